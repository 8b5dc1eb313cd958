package geminitest

// tokensOfImage is what the service counts for a picture that fits one tile.
const tokensOfImage = 258

// tokensOf estimates a text at four bytes a token.
func tokensOf(n int) int { return (n + 3) / 4 }

// promptTokens estimates what the service would count for a request. It is stable, so that tests can assert on it, and grows with what
// is sent; it is not the service's tokenizer.
func promptTokens(r *Request) int {
	n := tokensOf(len(r.System)) + tokensOf(len(r.ResponseSchema))
	for _, f := range r.Functions {
		n += tokensOf(len(f.Name) + len(f.Description) + len(f.Parameters))
	}
	for _, c := range r.Contents {
		for _, p := range c.Parts {
			n += tokensOf(len(p.Text))
			if p.Call != nil {
				n += tokensOf(len(p.Call.Name) + len(p.Call.Args))
			}
			if p.Response != nil {
				n += tokensOf(len(p.Response.Name) + len(p.Response.Response))
			}
			if p.Image != nil {
				n += tokensOfImage
			}
		}
	}
	return max(n, 1)
}
