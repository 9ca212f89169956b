#!/usr/bin/env python3
"""Small programs of JAX, recorded for check_recorded_jax.py: jax_programs.py KIND FOLDER

Prints the FLOPs of a step as XLA counts them before it runs: those of a loop's body once, of a convolution without what its padding
saves, and of one device.
"""

import sys
from typing import Any, Callable

import jax
import jax.numpy as jnp

Step = tuple[Callable[..., Any], Callable[[int], tuple[Any, ...]]]  # and its arguments


def layers() -> Step:
    def loss(parameters: list[jax.Array], x: jax.Array) -> jax.Array:
        for weights in parameters:
            x = jnp.tanh(x @ weights)
        return (x**2).mean()

    step = jax.jit(lambda p, x: [w - 0.01 * g for w, g in zip(p, jax.grad(loss)(p, x))])
    arguments = [jnp.ones((256, 512)), jnp.ones((512, 256))], jnp.ones((128, 256))
    return step, lambda number: arguments


def convolution() -> Step:
    def convolve(kernel: jax.Array, x: jax.Array) -> jax.Array:
        names = ("NHWC", "HWIO", "NHWC")
        return jax.lax.conv_general_dilated(x, kernel, (1, 1), "SAME", dimension_numbers=names)

    arguments = jnp.ones((3, 3, 16, 32)), jnp.ones((4, 32, 32, 16))
    return jax.jit(convolve), lambda number: arguments


def loop() -> Step:
    """Six layers in one loop, whose forward is computed again in the backward."""

    def loss(weights: jax.Array, x: jax.Array) -> jax.Array:
        body = jax.checkpoint(lambda x, w: (jnp.tanh(x @ w), None))
        return jax.lax.scan(body, x, weights)[0].sum()

    arguments = jnp.ones((6, 256, 256)), jnp.ones((64, 256))
    return jax.jit(jax.grad(loss)), lambda number: arguments


def two_devices() -> Step:
    from jax.sharding import Mesh, NamedSharding, PartitionSpec

    def place(array: jax.Array, *axes: str) -> jax.Array:
        return jax.device_put(array, NamedSharding(mesh, PartitionSpec(*axes)))

    mesh = Mesh(jax.devices(), "data")
    arguments = place(jnp.ones((256, 128))), place(jnp.ones((64, 256)), "data")
    return jax.jit(jax.grad(lambda w, x: jnp.tanh(x @ w).sum())), lambda number: arguments


def shapes() -> Step:
    """Each second step is compiled anew, for eight rows more."""
    weights = jnp.ones((64, 64))
    return jax.jit(lambda w, x: x @ w), lambda number: (
        weights,
        jnp.ones((32 + 8 * (number // 2), 64)),
    )


def main() -> None:
    step, arguments_of = globals()[sys.argv[1]]()
    cost = step.lower(*arguments_of(0)).compile().cost_analysis()
    jax.block_until_ready(step(*arguments_of(0)))
    with jax.profiler.trace(sys.argv[2]):
        for number in range(6):
            arguments = arguments_of(number)
            with jax.profiler.StepTraceAnnotation("train", step_num=number):
                jax.block_until_ready(step(*arguments))
    print((cost if isinstance(cost, dict) else cost[0])["flops"])


if __name__ == "__main__":
    main()
