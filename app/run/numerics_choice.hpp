// `runtime.numerics`: making OpenBLAS compute as a chosen processor type does, so that different
// machines give the same bits. OpenBLAS looks at OPENBLAS_CORETYPE once, before main, so the
// command has to start itself again.

#pragma once

#include <string>

namespace troupe {

/// The OpenBLAS core type for a value of `runtime.numerics`: Nehalem, Haswell and SkylakeX for
/// "x86-64-v2" to "x86-64-v4", otherwise the name itself; empty for "native".
std::string core_type_for(const std::string& numerics);

/// Returns when this process computes as `numerics` asks; else replaces it by the same program with
/// the same arguments and OPENBLAS_CORETYPE set.
///
/// Throws failure(mismatch) when OpenBLAS does not offer that core type here.
void ensure_numerics(const std::string& numerics, char** process_arguments);

} // namespace troupe
