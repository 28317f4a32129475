/** The first call with a key, ready to be pasted: for programs and for coding agents. */
import { quoted, shell } from './quoting.ts'

/** What a snippet is filled with. */
export interface SnippetValues {
  /** The address of the gateway, with a slash at the end. */
  readonly gateway: string
  readonly key: string
  /** The public name of a model that chats. */
  readonly model: string
}

const question = 'Say hello in one sentence.'

/** Tabs of a CodeBlock. Names of clients are not translated. */
export function snippetsFor({ gateway, key, model }: SnippetValues): { title: string; code: string }[] {
  const body = JSON.stringify({ model, messages: [{ role: 'user', content: question }] })
  return [
    {
      title: 'curl',
      code: `curl ${shell(`${gateway}v1/chat/completions`)} \\
  -H ${shell(`Authorization: Bearer ${key}`)} \\
  -H 'Content-Type: application/json' \\
  -d ${shell(body)}`,
    },
    {
      title: 'Python',
      code: `# pip install openai
from openai import OpenAI

client = OpenAI(base_url=${quoted(`${gateway}v1`)}, api_key=${quoted(key)})
answer = client.chat.completions.create(
    model=${quoted(model)},
    messages=[{"role": "user", "content": ${quoted(question)}}],
)
print(answer.choices[0].message.content)`,
    },
    {
      title: 'Node',
      code: `// npm install openai
import OpenAI from 'openai'

const client = new OpenAI({ baseURL: ${quoted(`${gateway}v1`)}, apiKey: ${quoted(key)} })
const answer = await client.chat.completions.create({
  model: ${quoted(model)},
  messages: [{ role: 'user', content: ${quoted(question)} }],
})
console.log(answer.choices[0].message.content)`,
    },
    {
      title: 'Claude Code',
      code: `export ANTHROPIC_BASE_URL=${shell(gateway.replace(/\/$/, ''))}
export ANTHROPIC_AUTH_TOKEN=${shell(key)}
export ANTHROPIC_MODEL=${shell(model)}
claude`,
    },
    {
      title: 'Codex',
      code: `# ~/.codex/config.toml
model = ${quoted(model)}
model_provider = "modelgate"

[model_providers.modelgate]
name = "Modelgate"
base_url = ${quoted(`${gateway}v1`)}
env_key = "MODELGATE_API_KEY"
wire_api = "responses"

# in the shell:
#   export MODELGATE_API_KEY=${shell(key)}
#   codex`,
    },
  ]
}
