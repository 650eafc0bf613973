// Running out of memory is a result that tests ask for: under AddressSanitizer too it is a null pointer.

extern "C" const char* __asan_default_options();  // NOLINT(bugprone-reserved-identifier)
extern "C" const char* __asan_default_options() {
  return "allocator_may_return_null=1:max_allocation_size_mb=4096";
}
