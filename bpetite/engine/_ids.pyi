from ..vocabulary._tokens import TokenTable

class IdLists:
    def __init__(self, tokens: TokenTable) -> None: ...
