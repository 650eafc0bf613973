// Reads the text that class Schema wrote. The prose of the schema is elsewhere: see class Doc.
#include "omnigrad/op.h"

namespace omnigrad {
namespace {

// Reads and writes a member of an op's Options, alike for all ops.
struct OptionAccess {
  OptionType type;
  bool nullable;
  void (*write)(void* member, const OptionValue&);
  OptionValue (*read)(const void* member);
};

template <class T>
struct OptionOf {
  static void write(void* p, const OptionValue& v) { *static_cast<T*>(p) = std::get<T>(v); }
  static OptionValue read(const void* p) { return *static_cast<const T*>(p); }
};
// Choices are read and written by their underlying integer.
template <class I>
struct ChoiceOf {
  static void write(void* p, const OptionValue& v) {
    *static_cast<I*>(p) = static_cast<I>(std::get<int64_t>(v));
  }
  static OptionValue read(const void* p) { return static_cast<int64_t>(*static_cast<const I*>(p)); }
};
enum class Choice : int {};
enum class SmallChoice : uint8_t {};
template <>
struct OptionOf<Choice> : ChoiceOf<int> {};
template <>
struct OptionOf<SmallChoice> : ChoiceOf<uint8_t> {};
template <class T>
struct OptionOf<std::optional<T>> {
  static void write(void* p, const OptionValue& v) {
    auto& member = *static_cast<std::optional<T>*>(p);
    member.reset();
    if (!std::holds_alternative<std::monostate>(v)) OptionOf<T>::write(&member.emplace(), v);
  }
  static OptionValue read(const void* p) {
    const auto& member = *static_cast<const std::optional<T>*>(p);
    return member ? OptionOf<T>::read(&*member) : OptionValue();
  }
};

template <class T>
constexpr OptionAccess access_to(OptionType type, bool nullable) {
  return {type, nullable, &OptionOf<T>::write, &OptionOf<T>::read};
}

// In the order of option_number().
constexpr OptionAccess kAccess[] = {
    access_to<bool>(OptionType::boolean, false),
    access_to<int64_t>(OptionType::integer, false),
    access_to<double>(OptionType::number, false),
    access_to<Choice>(OptionType::choice, false),
    access_to<std::string>(OptionType::text, false),
    access_to<Dims>(OptionType::dims, false),
    access_to<Padding>(OptionType::padding, false),
    access_to<SmallChoice>(OptionType::choice, false),
    access_to<std::optional<bool>>(OptionType::boolean, true),
    access_to<std::optional<int64_t>>(OptionType::integer, true),
    access_to<std::optional<double>>(OptionType::number, true),
    access_to<std::optional<Choice>>(OptionType::choice, true),
    access_to<std::optional<std::string>>(OptionType::text, true),
    access_to<std::optional<Dims>>(OptionType::dims, true),
    access_to<std::optional<Padding>>(OptionType::padding, true),
    access_to<std::optional<SmallChoice>>(OptionType::choice, true),
};

class Reading {
 public:
  explicit Reading(const char* text) : at_(text) {}
  int byte() { return static_cast<unsigned char>(*at_++); }
  int number() {
    const int low = byte();
    return low | byte() << 8;
  }
  std::string name() {
    std::string s(at_);
    at_ += s.size() + 1;
    return s;
  }

 private:
  const char* at_;
};

void read_input(Reading& r, InputInfo& i) {
  const int flags = r.byte();
  i.kind = static_cast<Kind>(flags & 7);
  i.optional = flags & Schema::kOptional;
  i.variadic = flags & Schema::kVariadic;
  i.differentiable = !(flags & Schema::kFixed);
  i.saved = flags & Schema::kSaved;
  i.mutated = flags & Schema::kMutated;
  i.doc = static_cast<uint16_t>(r.number());
  i.name = r.name();
}

void read_option(Reading& r, OptionInfo& o) {
  const int number = r.byte();
  const OptionAccess& access = kAccess[number & 15];
  o.type = access.type;
  o.nullable = access.nullable;
  o.write = access.write;
  o.read = access.read;
  o.positional = number & 16;
  o.offset = static_cast<size_t>(r.number());
  o.doc = static_cast<uint16_t>(r.number());
  o.name = r.name();
}

void read_output(Reading& r, OutputInfo& o) {
  const int flags = r.byte();
  o.differentiable = !(flags & Schema::kFixed);
  o.saved = flags & Schema::kSaved;
  o.name = r.name();
}

OpInfo* make_info(const OpEntry& entry) {
  auto* info = new OpInfo;
  static_cast<OpFunctions&>(*info) = *entry.functions;
  Reading r(entry.schema);
  info->doc = static_cast<uint16_t>(r.number());
  info->name = r.name();
  for (int order = 0;;) {
    switch (static_cast<Schema::Part>(r.byte())) {
      case Schema::Part::end:
        return info;
      case Schema::Part::input:
        read_input(r, info->inputs.emplace_back());
        info->inputs.back().order = order++;
        break;
      case Schema::Part::option:
        read_option(r, info->options.emplace_back());
        info->options.back().order = order++;
        break;
      case Schema::Part::choice:
        info->options.back().choices.push_back(r.name());
        break;
      case Schema::Part::output:
        read_output(r, info->outputs.emplace_back());
        break;
      case Schema::Part::when:
        info->outputs.back().when = r.name();
        break;
      case Schema::Part::no_gradient:
        info->no_gradient = r.name();
        break;
      case Schema::Part::internal:
        r.name();
        info->internal = true;
        break;
    }
  }
}

}  // namespace

const OpInfo& info_of(OpEntry& entry) {
  if (!entry.info) entry.info = make_info(entry);
  return *entry.info;
}

}  // namespace omnigrad
