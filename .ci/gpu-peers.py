"""Training steps of other frameworks on a GPU, for comparison with credence-full bench train --device gpu.

One line of JSON for each network and framework: PyTorch as it is, PyTorch as a CUDA graph, and JAX.
A step copies its inputs from pinned host memory, in a stream of its own where the framework can,
and is forward, the mixture's loss, backward, Adam.

usage: gpu-peers.py [mlp] [lenet5] [cnn2d] [cnn3d]
"""
import json, sys, time

SECONDS, CLASSES = 2.0, 2
SHAPES = {'mlp': ((64, 2), 10, 2), 'lenet5': ((64, 1, 28, 28), 3, 2), 'cnn2d': ((128, 3, 32, 32), 3, 3),
          'cnn3d': ((16, 1, 96, 96, 80), 3, 3)}

def say(name, framework, ms):
    print(json.dumps({'workload': name, 'framework': framework, 'ms_per_step': round(ms, 4)}), flush=True)

def best(step, sync):
    """The best of five windows, in milliseconds per step."""
    least = 1e9
    for _ in range(5):
        sync(); n, t = 0, time.perf_counter()
        while time.perf_counter() - t < SECONDS / 5:
            for _ in range(5): step()
            n += 5
            sync()
        least = min(least, (time.perf_counter() - t) / n)
    return least * 1e3

def torch_net(name, out):
    from torch import nn
    if name == 'mlp':
        return nn.Sequential(nn.Linear(2, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, out))
    if name == 'lenet5':
        return nn.Sequential(nn.Conv2d(1, 6, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(6, 16, 5), nn.ReLU(),
                             nn.MaxPool2d(2), nn.Flatten(), nn.Linear(400, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(),
                             nn.Linear(84, out))
    if name == 'cnn2d':
        layers, c = [], 3
        for width in 16, 32, 64:
            layers += [nn.Conv2d(c, width, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.BatchNorm2d(width)]
            c = width
        return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, out))
    return nn.Sequential(nn.Conv3d(1, 16, 5), nn.ReLU(), nn.MaxPool3d(5), nn.Conv3d(16, 32, 3), nn.ReLU(), nn.MaxPool3d(2),
                         nn.Flatten(), nn.Linear(32 * 8 * 8 * 6, out))

def with_torch(name):
    import torch
    torch.manual_seed(0)
    torch.backends.cudnn.benchmark = True
    shape, K, votes = SHAPES[name]
    net = torch_net(name, K * (CLASSES + 1)).cuda()
    host = [torch.randn(*shape).pin_memory() for _ in range(2)]
    x = [h.cuda() for h in host]
    S = torch.zeros(shape[0], CLASSES).scatter_add_(1, torch.randint(0, CLASSES, (shape[0], votes)), torch.ones(shape[0], votes)).cuda()
    copies, ready, done = torch.cuda.Stream(), [torch.cuda.Event() for _ in x], [torch.cuda.Event() for _ in x]

    def work(x, opt):
        opt.zero_grad(set_to_none=True)
        o = net(x)
        lw, al, s = torch.log_softmax(o[:, :K], 1), torch.exp(o[:, K:].reshape(-1, K, CLASSES)), S[:, None, :]
        l = torch.lgamma(al + s).sum(2) - torch.lgamma((al + s).sum(2)) - torch.lgamma(al).sum(2) + torch.lgamma(al.sum(2))
        loss = -torch.logsumexp(lw + l, 1).mean()
        loss.backward()
        opt.step()

    def fed(run):
        turn = [0]
        def step():
            i = turn[0] = 1 - turn[0]
            with torch.cuda.stream(copies):  # the inputs of the next step
                copies.wait_event(done[1 - i])
                x[1 - i].copy_(host[1 - i], non_blocking=True)
                ready[1 - i].record(copies)
            main = torch.cuda.current_stream()
            main.wait_event(ready[i])
            run(i)
            done[i].record(main)
        return step

    opt = torch.optim.Adam(net.parameters(), 1e-3)
    step = fed(lambda i: work(x[i], opt))
    for _ in range(10): step()
    say(name, 'pytorch ' + torch.__version__, best(step, torch.cuda.synchronize))

    opt = torch.optim.Adam(net.parameters(), 1e-3, capturable=True)
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        for i in range(6): work(x[i % 2], opt)
    torch.cuda.synchronize()
    graphs = []
    for i in range(2):
        g = torch.cuda.CUDAGraph()
        with torch.cuda.graph(g): work(x[i], opt)
        graphs.append(g)
    step = fed(lambda i: graphs[i].replay())
    for _ in range(10): step()
    say(name, 'pytorch graph', best(step, torch.cuda.synchronize))

def with_jax(name):
    import jax, jax.numpy as jnp, numpy as np
    from jax import lax
    shape, K, votes = SHAPES[name]
    out, r = K * (CLASSES + 1), np.random.default_rng(0)
    weight = lambda *s: jnp.asarray(r.normal(0, (2 / np.prod(s[1:])) ** 0.5, s), jnp.float32)
    dense = lambda i, o: (weight(o, i), jnp.zeros(o))
    conv = lambda i, o, *k: (weight(o, i, *k), jnp.zeros(o))
    if name == 'mlp': params = [dense(2, 64), dense(64, 64), dense(64, out)]
    if name == 'lenet5': params = [conv(1, 6, 5, 5), conv(6, 16, 5, 5), dense(400, 120), dense(120, 84), dense(84, out)]
    if name == 'cnn2d': params = [conv(3, 16, 3, 3), conv(16, 32, 3, 3), conv(32, 64, 3, 3), (jnp.ones(16), jnp.zeros(16)), (jnp.ones(32), jnp.zeros(32)), (jnp.ones(64), jnp.zeros(64)), dense(64, out)]
    if name == 'cnn3d': params = [conv(1, 16, 5, 5, 5), conv(16, 32, 3, 3, 3), dense(32 * 8 * 8 * 6, out)]

    def cp(x, p, pad, pool):
        d = x.ndim - 2
        y = lax.conv_general_dilated(x, p[0], (1,) * d, [(pad, pad)] * d) + p[1].reshape((1, -1) + (1,) * d)
        return lax.reduce_window(jax.nn.relu(y), -jnp.inf, lax.max, (1, 1) + (pool,) * d, (1, 1) + (pool,) * d, 'VALID')

    def net(p, x):
        if name == 'lenet5': x, p = cp(cp(x, p[0], 2, 2), p[1], 0, 2), p[2:]
        if name == 'cnn3d': x, p = cp(cp(x, p[0], 0, 5), p[1], 0, 2), p[2:]
        if name == 'cnn2d':
            for i in range(3):
                x = cp(x, p[i], 1, 2)
                m, v = x.mean((0, 2, 3), keepdims=True), x.var((0, 2, 3), keepdims=True)
                x = (x - m) / jnp.sqrt(v + 1e-5) * p[3 + i][0].reshape(1, -1, 1, 1) + p[3 + i][1].reshape(1, -1, 1, 1)
            x, p = x.mean((2, 3)), p[6:]
        x = x.reshape(x.shape[0], -1)
        for i, (w, b) in enumerate(p):
            x = x @ w.T + b
            if i < len(p) - 1: x = jax.nn.relu(x)
        return x

    S = jnp.asarray(r.multinomial(votes, [0.5, 0.5], shape[0]), jnp.float32)[:, None, :]
    lg = jax.scipy.special.gammaln
    def loss(p, x):
        o = net(p, x)
        al = jnp.exp(o[:, K:].reshape(-1, K, CLASSES))
        l = lg(al + S).sum(2) - lg((al + S).sum(2)) - lg(al).sum(2) + lg(al.sum(2))
        return -jax.scipy.special.logsumexp(jax.nn.log_softmax(o[:, :K]) + l, axis=1).mean()
    @jax.jit
    def step(p, m, v, t, x):
        g = jax.grad(loss)(p, x)
        tree = jax.tree_util.tree_map
        m, v = tree(lambda m, g: .9 * m + .1 * g, m, g), tree(lambda v, g: .999 * v + .001 * g * g, v, g)
        p = tree(lambda p, m, v: p - 1e-3 * m / (1 - .9 ** t) / (jnp.sqrt(v / (1 - .999 ** t)) + 1e-8), p, m, v)
        return p, m, v, t + 1
    zero = jax.tree_util.tree_map(jnp.zeros_like, params)
    host = [r.normal(size=shape).astype(np.float32) for _ in range(2)]
    state, x, turn = [params, zero, zero, jnp.float32(1)], [jax.device_put(h) for h in host], [0]
    def run():
        i = turn[0] = 1 - turn[0]
        x[1 - i] = jax.device_put(host[1 - i])
        state[:] = step(*state, x[i])
    for _ in range(5): run()
    say(name, 'jax ' + jax.__version__, best(run, lambda: jax.block_until_ready(state)))

for name in sys.argv[1:] or SHAPES:
    for f in with_torch, with_jax:
        try:
            f(name)
        except Exception as e:
            print(json.dumps({'workload': name, 'framework': f.__name__, 'error': repr(e)[:300]}), flush=True)
