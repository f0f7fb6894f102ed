#pragma once
// The only way tests include Catch2.
#include <catch2/catch.hpp>
