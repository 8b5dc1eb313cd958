package gym_test

// recycled: the same elements come to say something else.
func recycled(p *tab) {
	p.eval(`window.held = document.querySelector("#named button"); window.said = held.textContent`, nil)
	p.until(`held.isConnected && held.textContent !== said`)
}

// atRest clicks an element after the page was kept from sorting itself any further: a person looks, and clicks at once.
func atRest(element string) func(*tab) {
	return func(p *tab) {
		p.eval(`for (let i = 0; i < 100; i++) clearInterval(i)`, nil)
		p.clickOn(element)
	}
}

// takenBack: what is shown at once is taken back.
func takenBack(p *tab) {
	p.clickOn(`$("like")`)
	p.noted("taken back")
	p.wants(0, 0, 0)
}
