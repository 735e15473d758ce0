// Package kernel implements the float32 compute kernels of the network engine:
// matrix product, convolution with an optional fused max-pool, pooling,
// activations, elementwise operations, reductions and optimizer updates; and, in
// float64, the two products of a linear model, densities and tails of Beta mixtures.
//
// Every operation is a driver in Go around a few small primitives (type impl).
// The primitives exist once in plain Go, the reference, and once in assembly
// for each instruction set; one table of them is chosen when the program
// starts. See Use and the environment variable CREDENCE_KERNEL. The build tag
// purego leaves the assembly out; architectures other than amd64 and arm64 run
// the reference.
//
// # Rules that every kernel follows
//
//   - Nothing is allocated. Where memory is needed, it comes from a scratch
//     value that the caller creates once for each worker; plans (Conv) are
//     read-only after creation and shared.
//   - The order in which an output element is accumulated is a constant of the
//     shapes. It does not depend on how the caller splits rows, tiles or items
//     over workers, nor on where a slice starts in memory.
//   - Within one instruction set a function gives the same bits for the same
//     element at any index of a slice. Across instruction sets results agree to
//     rounding: the assembly uses fused multiply-add, the reference does not.
//   - Slices are checked at the entry of each exported function; a mismatch is
//     a programmer's error and panics.
//   - NaN propagates: through products, through max, through activations. Minimal
//     filtering (winograd) spreads it over a tile of outputs.
//   - Subnormal numbers may count as zero: on amd64 the matrix product and the
//     optimizer updates in assembly flush them, because gradients that vanish
//     decay into them and a processor is a hundred times slower there.
//
// # Layout
//
// Tensors are contiguous and channels-first: an item of an image is
// [C, D, H, W], with D = 1 for 2-D and D = H = 1 for 1-D data. Convolution
// weights are [Out, In, KD, KH, KW].
package kernel
