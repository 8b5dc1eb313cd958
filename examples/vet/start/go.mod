module books

go 1.24
