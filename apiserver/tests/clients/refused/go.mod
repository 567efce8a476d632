module refused

go 1.24
