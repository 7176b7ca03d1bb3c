# The addon: the CPU backend and the Node-API binding. Needs a C++17 compiler and nothing else.
# CUDA is another library (CMakeLists.txt) that the addon opens when it is first asked for.
{
  "targets": [
    {
      "target_name": "surprisal",
      "sources": ["<!@(node scripts/build/addon-sources.mjs)"],
      "include_dirs": [
        "native",
        "native/include",
        "<!(node -p \"require('node-addon-api').include_dir\")"
      ],
      # The third: a worker that is terminated while it loads the addon cannot be thrown at, and must not take the process along.
      "defines": ["NAPI_VERSION=8", "NAPI_DISABLE_CPP_EXCEPTIONS", "NODE_API_SWALLOW_UNTHROWABLE_EXCEPTIONS"],
      "conditions": [
        ["OS=='linux'", {
          # gyp's defaults add -fno-rtti and -fno-exceptions; they stay: native code returns a status.
          "cflags": [
            "-O3",
            # What was linked ahead of a function would else decide how fast it is called: 64 rows of a loss by a fifth.
            "-falign-functions=64",
            "<!@(node scripts/build/compiler-flags.mjs)",
            "-fvisibility=hidden",
            "-fvisibility-inlines-hidden",
            # One rounding per written operation: results repeat across compilers and CPUs.
            "-ffp-contract=off",
            "-Wall", "-Wextra", "-Werror"
          ],
          "cflags_cc": ["-std=c++17"],
          "cflags_cc!": ["-std=gnu++17", "-std=gnu++20"],
          # now: a function that nobody wrote fails the load, which the build tries, not its first call.
          # nodelete: the thread pool outlives the last worker that loaded the addon.
          "ldflags": [
            "-static-libstdc++",
            "-Wl,--exclude-libs,ALL",
            "-Wl,--gc-sections",
            "-Wl,-z,now",
            "-Wl,-z,nodelete"
          ],
          "libraries": ["-ldl", "-pthread"]
        }],
        ["OS=='mac'", {
          "xcode_settings": {
            "CLANG_CXX_LANGUAGE_STANDARD": "c++17",
            "GCC_SYMBOLS_PRIVATE_EXTERN": "YES",
            "GCC_OPTIMIZATION_LEVEL": "3",
            "MACOSX_DEPLOYMENT_TARGET": "11.0",
            "OTHER_CFLAGS": ["-ffp-contract=off", "-Wall", "-Wextra"]
          }
        }],
        ["OS=='win'", {
          "msvs_settings": {
            "VCCLCompilerTool": { "AdditionalOptions": ["/std:c++17", "/fp:precise"] }
          }
        }]
      ]
    }
  ]
}
