// Every kernel, in one module.
#include "conv.cu"
#include "volume.cu"
#include "gradient.cu"
#include "gemm.cu"
#include "norm.cu"
#include "pointwise.cu"
#include "optimizer.cu"
