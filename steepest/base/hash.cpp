#include "steepest/base/hash.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <new>

namespace steepest {

namespace {
std::string digits(std::uint64_t value) { return fmt::format("{:016x}", value); }
}  // namespace

struct Checksum::State {
  struct Free {
    void operator()(XXH3_state_t* state) const { XXH3_freeState(state); }
  };
  std::unique_ptr<XXH3_state_t, Free> xxh{XXH3_createState()};
};

Checksum::Checksum() : state_(std::make_unique<State>()) {
  if (state_->xxh == nullptr) throw std::bad_alloc();
  reset();
}
Checksum::~Checksum() = default;

void Checksum::add(std::string_view bytes) {
  XXH3_64bits_update(state_->xxh.get(), bytes.data(), bytes.size());
}
void Checksum::reset() { XXH3_64bits_reset(state_->xxh.get()); }
std::string Checksum::text() const { return digits(XXH3_64bits_digest(state_->xxh.get())); }

std::string checksum(std::string_view bytes) { return digits(hash(bytes)); }

std::uint64_t hash(std::string_view bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

}  // namespace steepest
