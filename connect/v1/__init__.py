"""Chat completions as OpenAI's clients speak them: the owner's models, with the owner's memory."""
