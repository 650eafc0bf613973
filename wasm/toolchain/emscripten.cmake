# Debian 12's Emscripten 3.1.6 driving clang-19 (em++ beside this file sets its environment).
set(CMAKE_C_COMPILER ${CMAKE_CURRENT_LIST_DIR}/emcc)
set(CMAKE_CXX_COMPILER ${CMAKE_CURRENT_LIST_DIR}/em++)
set(EMSCRIPTEN_ROOT_PATH /usr/share/emscripten)
include(/usr/share/emscripten/cmake/Modules/Platform/Emscripten.cmake)

# The glue is patched by exact text, so another version must be looked at first.
if(NOT EMSCRIPTEN_VERSION VERSION_EQUAL 3.1.6)
  message(FATAL_ERROR "Emscripten ${EMSCRIPTEN_VERSION} found; this build knows 3.1.6 (Debian 12's)")
endif()
