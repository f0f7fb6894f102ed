#include "../../../tools/aql/arg_spec.hpp"

#include <cstdio>
#include <cstring>

#include <unistd.h>

#include "support/catch.hpp"

using namespace aql;
using namespace aql::tool;
using Catch::Matchers::Contains;

namespace {

std::vector<std::byte> value_of(std::string_view text) {
  auto spec = parse_arg_spec(text);
  REQUIRE(spec);
  return std::get<ValueSpec>(*spec).bytes;
}

BufferSpec buffer_of(std::string_view text) {
  auto spec = parse_arg_spec(text);
  INFO(text);
  REQUIRE(spec);
  return std::get<BufferSpec>(*spec);
}

std::string error_of(std::string_view text) {
  auto spec = parse_arg_spec(text);
  INFO(text);
  REQUIRE_FALSE(spec);
  return spec.error().detail;
}

std::vector<std::byte> bytes(std::initializer_list<int> list) {
  std::vector<std::byte> out;
  for (const int b : list) out.push_back(static_cast<std::byte>(b));
  return out;
}

} // namespace

TEST_CASE("arguments: integers are little-endian and range-checked") {
  CHECK(value_of("i8:-1") == bytes({0xff}));
  CHECK(value_of("u16:0x1234") == bytes({0x34, 0x12}));
  CHECK(value_of("i32:-2147483648") == bytes({0, 0, 0, 0x80}));
  CHECK(value_of("u64:18446744073709551615") == bytes({0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}));
  CHECK_THAT(error_of("i8:128"), Contains("range"));
  CHECK_THAT(error_of("u32:-1"), Contains("range"));
  CHECK_THAT(error_of("u32:12x"), Contains("12x"));
}

TEST_CASE("arguments: floats of every width") {
  CHECK(value_of("f16:1") == bytes({0x00, 0x3c}));
  CHECK(value_of("bf16:1") == bytes({0x80, 0x3f}));
  CHECK(value_of("f32:1.5") == bytes({0, 0, 0xc0, 0x3f}));
  CHECK(value_of("f64:-2") == bytes({0, 0, 0, 0, 0, 0, 0, 0xc0}));
  CHECK_THAT(error_of("f32:one"), Contains("one"));
}

TEST_CASE("arguments: raw bytes, null, references, LDS") {
  CHECK(value_of("hex:00fFa0") == bytes({0, 0xff, 0xa0}));
  CHECK_THAT(error_of("hex:123"), Contains("even"));
  CHECK_THAT(error_of("hex:1g"), Contains("1g"));
  CHECK(std::holds_alternative<NullSpec>(*parse_arg_spec("null")));
  CHECK(std::get<RefSpec>(*parse_arg_spec("ref:3")).index == 3);
  CHECK(std::get<LocalSpec>(*parse_arg_spec("lds:1024")).size_bytes == 1024);
}

TEST_CASE("arguments: buffers split only before init, out and mem, so paths may hold colons") {
  const auto spec = buffer_of("buf:f16:128:init=@/tmp/a:b=c.bin:out=/tmp/x:y:mem=host");
  CHECK(spec.type == ScalarType::f16);
  CHECK(spec.count == 128);
  CHECK(spec.init == BufferSpec::Init::file);
  CHECK(spec.in_file == "/tmp/a:b=c.bin");
  CHECK(spec.out == "/tmp/x:y");
  CHECK(spec.pool == PoolKind::host_fine);
}

TEST_CASE("arguments: buffer defaults are zero, coarse and not shown") {
  const auto spec = buffer_of("buf:i32:4");
  CHECK(spec.init == BufferSpec::Init::zero);
  CHECK(spec.pool == PoolKind::device_coarse);
  CHECK(spec.out.empty());
}

TEST_CASE("arguments: wrong buffers say what is wrong") {
  CHECK_THAT(error_of("buf:f8:4"), Contains("f8"));
  CHECK_THAT(error_of("buf:f32"), Contains("number of elements"));
  CHECK_THAT(error_of("buf:f32:0"), Contains("1 or more"));
  CHECK_THAT(error_of("buf:f32:4:init=one"), Contains("init=one"));
  CHECK_THAT(error_of("buf:f32:4:mem=vram"), Contains("coarse, fine, host"));
  CHECK_THAT(error_of("buf:f32:4:inti=zero"), Contains("misspelt"));
  CHECK_THAT(error_of("buf:i8:4:init=const=300"), Contains("300"));
  CHECK_THAT(error_of("widget:4"), Contains("TYPE:VALUE"));
  CHECK_THAT(error_of(""), Contains("TYPE:VALUE"));
}

TEST_CASE("arguments: initial contents") {
  CHECK(*initial_contents(buffer_of("buf:u16:3:init=iota")) == bytes({0, 0, 1, 0, 2, 0}));
  CHECK(*initial_contents(buffer_of("buf:f16:2:init=const=2")) == bytes({0, 0x40, 0, 0x40}));
  CHECK(*initial_contents(buffer_of("buf:f32:8:init=rand=1")) == *initial_contents(buffer_of("buf:f32:8:init=rand=1")));
  CHECK(*initial_contents(buffer_of("buf:f32:8:init=rand=1")) != *initial_contents(buffer_of("buf:f32:8:init=rand=2")));
}

TEST_CASE("arguments: a file of the wrong size is refused") {
  char name[] = "/tmp/aql-arg-XXXXXX";
  const int fd = mkstemp(name);
  REQUIRE(fd >= 0);
  REQUIRE(write(fd, "12345678", 8) == 8);
  close(fd);
  const auto exact = initial_contents(buffer_of(std::string{"buf:u32:2:init=@"} + name));
  const auto more = initial_contents(buffer_of(std::string{"buf:u32:1:init=@"} + name));
  const auto fewer = initial_contents(buffer_of(std::string{"buf:u32:3:init=@"} + name));
  unlink(name);
  CHECK(exact);
  CHECK_FALSE(more);
  CHECK_FALSE(fewer);
}

TEST_CASE("arguments: elements print as numbers of their type") {
  CHECK(format_element(ScalarType::i8, bytes({0x80}), 0) == "-128");
  CHECK(format_element(ScalarType::u8, bytes({1, 0x80}), 1) == "128");
  CHECK(format_element(ScalarType::f16, bytes({0, 0x3e}), 0) == "1.5");
  CHECK(format_element(ScalarType::bf16, bytes({0x80, 0xbf}), 0) == "-1");
}

TEST_CASE("sizes: one to three dimensions") {
  CHECK(*parse_dim3("64") == Dim3{64, 1, 1});
  CHECK(*parse_dim3("7,5,3") == Dim3{7, 5, 3});
  CHECK(*parse_dim3("16x16") == Dim3{16, 16, 1});
  for (const char* text : {"", "0", "1,2,3,4", "1,,2", "a", "4294967296", "-1", "1,"}) CHECK_FALSE(parse_dim3(text));
}
