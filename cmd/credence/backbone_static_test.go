//go:build !full && !cuda

package main

// static reports whether the program loads no libraries.
const static = true
