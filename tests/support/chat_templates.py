"""Chat templates in the ways of published ones: each joins its texts and its special tokens in another way."""

TEMPLATES = {
    "chatml": """{%- for message in messages %}
{{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>' + '\\n' }}
{%- endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}""",
    "data": """{{ bos_token }}{% for message in messages %}<|header|>{{ message['role'] }}<|/header|>

{{ message['content'] | trim }}<|eot|>{% endfor %}""",
    "variable": """{% for m in messages %}{% set content = '<|header|>' + m['role'] + '<|/header|>\\n\\n'
+ m['content'] | trim + '<|eot|>' %}{% if loop.first %}{% set content = bos_token + content %}{% endif %}
{{- content }}{% endfor %}""",
    "joined role": """{{ bos_token }}{% for message in messages %}{{ '<|' + message['role'] + '|>' + '\\n'
+ message['content'] + '<|end|>' + '\\n' }}{% endfor %}{% if add_generation_prompt %}<|assistant|>
{% endif %}""",
    "brackets": """{{ bos_token }}{% for message in messages %}{% if message.role == 'user' %}{{ '[INST] '
+ message.content + ' [/INST]' }}{% elif message.role == 'assistant' %}{{ message.content + eos_token }}{% else %}
{{ message.content }}{% endif %}{% endfor %}""",
    "reasoning": """{% for m in messages %}{% set content = m.content %}{% if m.role == 'assistant' %}
{% set thought = content.split('</think>')[0].split('<think>')[-1].strip('\\n') if '</think>' in content else '' %}
<|im_start|>assistant
<think>{{ thought }}</think>{{ content.split('</think>')[-1].lstrip('\\n') }}<|im_end|>
{% else %}<|im_start|>{{ m.role }}
{{ content }}<|im_end|>{% endif %}{% endfor %}""",
    "tools": """<|im_start|>system
{% for tool in tools or [] %}{{ tool | tojson }}
{% for key, value in tool.function.parameters.properties.items() %}{{ '<' + key + '>' + value.description + '</' + key
+ '>' }}{% endfor %}{% endfor %}<|im_end|>{% for m in messages %}<|im_start|>{{ m.role }}
{{ m.content }}{% for call in m.tool_calls or [] %}<tool_call>{{ call | tojson }}</tool_call>{% endfor %}<|im_end|>
{% endfor %}""",
    "macro": """{% macro body(m) %}{% if m.content is string %}{{ m.content }}{% else %}{% for part in m.content %}
<|part|>{{ part.text }}{% endfor %}{% endif %}{% endmacro %}{% for m in messages %}<|im_start|>{{ m.role }}
{{ body(m) | trim }}<|im_end|>{% endfor %}""",
    "generation": """{% for m in messages %}<|im_start|>{{ m.role }}
{% if m.role == 'assistant' %}{% generation %}{{ m.content }}{% endgeneration %}<|im_end|>{% else %}{{ m.content }}
<|im_end|>{% endif %}{% endfor %}""",
    "upper": """{% for m in messages %}<|IM_START|>{{ m.content | upper }}<|IM_END|>{{ m.content | lower | capitalize }}
{% endfor %}""",
    "slices": """{% for m in messages %}<|im_start|>{{ m.content[1:] }}{{ m.content | replace('x', '') }}
{{- m.content | string | reverse }}{{ [m.role, m.content] | join('|') }}<|im_end|>{% endfor %}""",
    "seams": """{{ bos_token }}{% for m in messages %}{{ m.content }}{% endfor %}
{{- messages | map(attribute='content') | join }}<|{% for m in messages %}{{ m.content }}{% endfor %}|>""",
}  # fmt: skip
