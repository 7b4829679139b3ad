"""A tokenizer in the shape of another library's, for code that is written against that one."""
