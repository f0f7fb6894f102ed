#pragma once
// Early return for Result<T>: AQL_TRY(auto x, f()) and AQL_CHECK(g()) hand an error to the caller. One AQL_TRY a line. Internal.

#include <expected>
#include <utility>

#define AQL_TRY_JOIN2(a, b) a##b
#define AQL_TRY_JOIN(a, b) AQL_TRY_JOIN2(a, b)
#define AQL_TRY_NAMED(name, declaration, expression)                                                                               \
  auto name = (expression);                                                                                                        \
  if (!name) return std::unexpected(std::move(name).error());                                                                      \
  declaration = std::move(*name)

// Declares (or assigns) `declaration` from the value of `expression`.
#define AQL_TRY(declaration, ...) AQL_TRY_NAMED(AQL_TRY_JOIN(aql_try_, __LINE__), declaration, (__VA_ARGS__))
// For Result<void>.
#define AQL_CHECK(...)                                                                                                             \
  do {                                                                                                                             \
    if (auto aql_check = (__VA_ARGS__); !aql_check) return std::unexpected(std::move(aql_check).error());                          \
  } while (false)
