# The addon: the CPU backend and the Node-API binding. Needs a C++17 compiler and nothing else.
# CUDA is another library (CMakeLists.txt) that the addon opens when it is first asked for.
{
  "targets": [
    {
      "target_name": "surprisal",
      "sources": [
        "native/binding/addon.cc",
        "native/binding/call.cc",
        "native/binding/correction.cc",
        "native/binding/delim.cc",
        "native/binding/device.cc",
        "native/binding/device_async.cc",
        "native/binding/device_graph.cc",
        "native/binding/device_memory.cc",
        "native/binding/device_sharing.cc",
        "native/binding/device_stream.cc",
        "native/binding/divergence.cc",
        "native/binding/group.cc",
        "native/binding/handle.cc",
        "native/binding/invoke.cc",
        "native/binding/linear.cc",
        "native/binding/logprob.cc",
        "native/binding/loss.cc",
        "native/binding/modulate.cc",
        "native/binding/ops.cc",
        "native/binding/owner.cc",
        "native/binding/queue.cc",
        "native/binding/ratio.cc",
        "native/binding/reduce.cc",
        "native/binding/scan.cc",
        "native/binding/select.cc",
        "native/binding/session.cc",
        "native/cpu/backend.cpp",
        "native/cpu/cache.cpp",
        "native/cpu/correction.cpp",
        "native/cpu/delim.cpp",
        "native/cpu/divergence.cpp",
        "native/cpu/group.cpp",
        "native/cpu/group_columns.cpp",
        "native/cpu/level.cpp",
        "native/cpu/level_avx2.cpp",
        "native/cpu/level_avx512.cpp",
        "native/cpu/level_baseline.cpp",
        "native/cpu/level_neon.cpp",
        "native/cpu/linear.cpp",
        "native/cpu/logprob.cpp",
        "native/cpu/loss.cpp",
        "native/cpu/loss_logits.cpp",
        "native/cpu/modulate.cpp",
        "native/cpu/ratio.cpp",
        "native/cpu/reduce.cpp",
        "native/cpu/scan.cpp",
        "native/cpu/select.cpp",
        "native/cpu/select_covariance.cpp",
        "native/cpu/cores.cpp",
        "native/cpu/pool.cpp"
      ],
      "include_dirs": [
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
