// SPDX-License-Identifier: MIT
// Empty on purpose: an assembly file lets a Go file declare functions without bodies.
