package main

import (
	"github.com/spf13/cobra"

	"credence/internal/kernel"
)

// addKernelFlag adds --kernel to every verb. The flag goes before the
// environment variable, which package kernel reads itself.
func addKernelFlag(root *cobra.Command) {
	var name string
	root.PersistentFlags().StringVar(&name, "kernel", "",
		"force an instruction `set`: generic, avx2 or avx512 (default $"+kernel.Env+", else the fastest)")
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		if !cmd.Flags().Changed("kernel") {
			return kernel.Err()
		}
		return kernel.Use(name)
	}
}
