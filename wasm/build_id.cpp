// Alone in its file: only this one is compiled anew when a source anywhere changes.
#include "build_id.h"

namespace omnigrad {

const char* build_id() noexcept {
  return
#include "build_id.inc"
      ;
}

}  // namespace omnigrad
