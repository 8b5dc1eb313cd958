// Command books says how many books there are.
package main

import "fmt"

func main() {
	shelf := []string{"Dune", "Solaris", "Ubik"}
	fmt.Printf("%d books\n", shelf)
}
