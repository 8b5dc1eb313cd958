// Command serve does nothing.
package main

func main() {
}
