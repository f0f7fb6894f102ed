#include <aql/error.hpp>

#include "support/catch.hpp"

TEST_CASE("error: message holds code, detail and place") {
  const aql::Error error{aql::Errc::invalid_argument, 0, "asked for 3 slots, found 64 at least", "Queue::create"};
  CHECK(error.message() == "invalid_argument: asked for 3 slots, found 64 at least [Queue::create]");
}

TEST_CASE("error: HSA statuses are those of hsa.h") {
  CHECK(aql::hsa_status(aql::Errc::ok) == 0);
  CHECK(aql::hsa_status(aql::Errc::invalid_argument) == 0x1001);
  CHECK(aql::hsa_status(aql::Errc::incompatible_arguments) == 0x100D);
  CHECK(aql::hsa_status(aql::Errc::out_of_registers) == 45);
}
