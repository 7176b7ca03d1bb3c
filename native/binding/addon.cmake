# surprisal.node, as binding.gyp describes it: the same sources, which are all there are, and the same flags, but for what only makes
# the build shorter.

file(GLOB BINDING_SOURCES "${CMAKE_SOURCE_DIR}/native/binding/*.cc")
file(GLOB CPU_SOURCES "${CMAKE_SOURCE_DIR}/native/cpu/*.cpp")
set(SURPRISAL_NODE_API "" CACHE PATH "the folder with node_api.h")
set(SURPRISAL_NODE_ADDON_API "" CACHE PATH "the folder with napi.h")
set(SURPRISAL_NODE_API_DEF "" CACHE FILEPATH "the functions of Node-API, as a .def file: for Windows")
set(SURPRISAL_ADDON_FOLDER "${CMAKE_BINARY_DIR}" CACHE PATH "where surprisal.node is left")

# The longest to compile first, so that no core waits for them at the end.
file(GLOB LEVEL_SOURCES "${CMAKE_SOURCE_DIR}/native/cpu/level_*.cpp")
list(REMOVE_ITEM CPU_SOURCES ${LEVEL_SOURCES})

add_library(surprisal SHARED ${LEVEL_SOURCES} ${CPU_SOURCES} ${BINDING_SOURCES})
set_target_properties(surprisal PROPERTIES
  PREFIX ""
  SUFFIX ".node"
  LIBRARY_OUTPUT_DIRECTORY "${SURPRISAL_ADDON_FOLDER}"
  LIBRARY_OUTPUT_DIRECTORY_RELEASE "${SURPRISAL_ADDON_FOLDER}"
  LIBRARY_OUTPUT_DIRECTORY_DEBUG "${SURPRISAL_ADDON_FOLDER}"
  RUNTIME_OUTPUT_DIRECTORY_RELEASE "${SURPRISAL_ADDON_FOLDER}"
  RUNTIME_OUTPUT_DIRECTORY_DEBUG "${SURPRISAL_ADDON_FOLDER}"
  CXX_STANDARD 17
  CXX_STANDARD_REQUIRED ON
  CXX_EXTENSIONS OFF
  POSITION_INDEPENDENT_CODE ON
  CXX_VISIBILITY_PRESET hidden
  VISIBILITY_INLINES_HIDDEN ON)
target_compile_definitions(surprisal PRIVATE NAPI_VERSION=8 NAPI_DISABLE_CPP_EXCEPTIONS NODE_API_SWALLOW_UNTHROWABLE_EXCEPTIONS NODE_GYP_MODULE_NAME=surprisal BUILDING_NODE_EXTENSION)
target_include_directories(surprisal PRIVATE native native/include)
target_include_directories(surprisal SYSTEM PRIVATE "${SURPRISAL_NODE_API}" "${SURPRISAL_NODE_ADDON_API}")
if(WIN32)
  # Windows binds every name to a file: the functions of Node-API to node.exe.
  set(NODE_LIBRARY "${CMAKE_BINARY_DIR}/node_api${CMAKE_STATIC_LIBRARY_SUFFIX}")
  if(MSVC)
    execute_process(COMMAND "${CMAKE_AR}" "/def:${SURPRISAL_NODE_API_DEF}" "/out:${NODE_LIBRARY}" ${CMAKE_STATIC_LINKER_FLAGS} COMMAND_ERROR_IS_FATAL ANY)
  else()
    execute_process(COMMAND "${CMAKE_DLLTOOL}" --input-def "${SURPRISAL_NODE_API_DEF}" --output-lib "${NODE_LIBRARY}" COMMAND_ERROR_IS_FATAL ANY)
  endif()
  target_link_libraries(surprisal PRIVATE "${NODE_LIBRARY}")
endif()

if(MSVC)
  target_compile_options(surprisal PRIVATE /fp:precise)
else()
  # One rounding per written operation: results repeat across compilers and CPUs. Native code returns a status, it never throws.
  target_compile_options(surprisal PRIVATE -ffp-contract=off -fno-exceptions -fno-rtti $<$<NOT:$<CONFIG:Debug>>:-O3>)
  # The binding computes nothing. Loops over logits and tokens are in the levels.
  set_property(SOURCE ${BINDING_SOURCES} PROPERTY COMPILE_OPTIONS $<$<NOT:$<CONFIG:Debug>>:-O1>)
  set_property(SOURCE ${CPU_SOURCES} PROPERTY COMPILE_OPTIONS $<$<NOT:$<CONFIG:Debug>>:-O2>)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(surprisal PRIVATE $<$<NOT:$<CONFIG:Debug>>:-fno-gcse>) # as for binding.gyp: scripts/build/compiler-flags.mjs
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    set(BY_VECTORS vector_loop:4096:noalign,libcall:-1:noalign)
    target_compile_options(surprisal PRIVATE -mmemcpy-strategy=${BY_VECTORS} -mmemset-strategy=${BY_VECTORS})
  endif()
endif()
# Two thirds of a file of the binding are these headers.
target_precompile_headers(surprisal PRIVATE <napi.h> <functional> <memory> <string> <vector>)
set_property(SOURCE ${LEVEL_SOURCES} ${CPU_SOURCES} PROPERTY SKIP_PRECOMPILE_HEADERS ON)
if(MINGW)
  target_link_options(surprisal PRIVATE -static) # threads and the C++ library of MinGW come along
endif()
if(CMAKE_SYSTEM_NAME STREQUAL "Linux")
  # now: an undefined function fails the load. nodelete: the thread pool outlives the last worker that loaded the addon.
  target_link_options(surprisal PRIVATE
    -static-libstdc++ -Wl,--exclude-libs,ALL -Wl,--gc-sections -Wl,-z,now -Wl,-z,nodelete)
  target_link_libraries(surprisal PRIVATE dl pthread)
endif()
