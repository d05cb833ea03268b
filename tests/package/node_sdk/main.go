// Writes a package's Node.js SDK, as `pulumi package gen-sdk --language nodejs` does through the language's host.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/pulumi/pulumi/pkg/v3/codegen/nodejs"
	"github.com/pulumi/pulumi/pkg/v3/codegen/schema"
)

func main() {
	if err := run(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run(source, target string) error {
	text, err := os.ReadFile(source)
	if err != nil {
		return err
	}
	var spec schema.PackageSpec
	if err := json.Unmarshal(text, &spec); err != nil {
		return err
	}
	bound, diagnostics, err := schema.BindSpec(spec, nil, schema.ValidationOptions{})
	if err != nil {
		return err
	}
	if diagnostics.HasErrors() {
		return diagnostics
	}
	files, err := nodejs.GeneratePackage("nomad-csi", bound, nil, nil, true, nil)
	if err != nil {
		return err
	}
	for name, text := range files {
		if strings.HasPrefix(name, "types/") || strings.HasPrefix(name, "config/") {
			// Since Go 1.26 filepath.Rel answers in a way that the generator takes for "this folder".
			text = bytes.ReplaceAll(text, []byte(`from "./types/`), []byte(`from "../types/`))
			text = bytes.ReplaceAll(text, []byte(`from "./utilities"`), []byte(`from "../utilities"`))
		}
		path := filepath.Join(target, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, text, 0o644); err != nil {
			return err
		}
	}
	return nil
}
