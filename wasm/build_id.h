// The id that module, glue and TypeScript of one build share; the loader compares them.
#pragma once

namespace omnigrad {

const char* build_id() noexcept;

}  // namespace omnigrad
