//go:build !(cuda && linux && (amd64 || arm64))

package cuda

// library is that of a build that loads none.
type library struct{}

func load(string) (library, error) { return library{}, ErrBuild }

//go:uintptrescapes
func (*library) call(function, ...uintptr) uintptr { return uintptr(codeNotInitialized) }
