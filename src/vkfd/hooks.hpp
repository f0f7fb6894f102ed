#pragma once
// Shared by the files that export libc's names.

#include <dlfcn.h>

// A function of the C library behind ours.
#define AQL_HOOK extern "C" __attribute__((visibility("default")))
#define AQL_REAL(name) static const auto real = reinterpret_cast<decltype(&::name)>(dlsym(RTLD_NEXT, #name))
