#pragma once
// The only way tests include Catch2.
#if defined(__clang__)
#pragma clang diagnostic ignored "-Wunknown-warning-option"
#pragma clang diagnostic ignored "-Wc2y-extensions" // Catch2's macros expand __COUNTER__ in our files
#endif
#include <catch2/catch.hpp>
