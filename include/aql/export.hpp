#pragma once
// What leaves the shared library: everything else in it is hidden.
#define AQL_API __attribute__((visibility("default")))
