/** A request as a command or program that makes the same call. */
import type { Snippet } from '../../components/text/code-block.tsx'
import { quoted, shell } from '../../lib/quoting.ts'
import type { Body, OperationName } from './operations.ts'
import { operations } from './operations.ts'

interface Sdk {
  /** A method of OpenAI's clients, in Python and in Node. */
  readonly python: string
  readonly node: string
  /** Arguments that the Python client knows; all others go into `extra_body`. */
  readonly fields: string
  /** What is printed of the answer. */
  readonly shown: string
}

const chatFields =
  'model messages temperature top_p max_tokens max_completion_tokens reasoning_effort stop seed n tools tool_choice ' +
  'parallel_tool_calls response_format frequency_penalty presence_penalty logit_bias logprobs top_logprobs user ' +
  'metadata modalities audio service_tier store verbosity web_search_options prediction stream_options stream'
const responseFields =
  'model input instructions temperature top_p max_output_tokens max_tool_calls reasoning tools tool_choice store ' +
  'parallel_tool_calls previous_response_id conversation include metadata text truncation background user ' +
  'service_tier top_logprobs stream'

/** What OpenAI's clients have; the others are asked by plain HTTP. */
const sdks: Readonly<Partial<Record<OperationName, Sdk>>> = {
  chat: {
    python: 'chat.completions.create',
    node: 'chat.completions.create',
    fields: chatFields,
    shown: 'choices[0].message.content',
  },
  responses: {
    python: 'responses.create',
    node: 'responses.create',
    fields: responseFields,
    shown: 'output_text',
  },
  completions: {
    python: 'completions.create',
    node: 'completions.create',
    fields: 'model prompt temperature top_p max_tokens stop seed n suffix echo logprobs logit_bias user stream',
    shown: 'choices[0].text',
  },
  embeddings: {
    python: 'embeddings.create',
    node: 'embeddings.create',
    fields: 'model input dimensions encoding_format user',
    shown: 'data[0].embedding',
  },
  image: {
    python: 'images.generate',
    node: 'images.generate',
    fields: 'model prompt size quality n background moderation output_format output_compression style user',
    shown: 'data[0]',
  },
  moderation: {
    python: 'moderations.create',
    node: 'moderations.create',
    fields: 'model input',
    shown: 'results[0]',
  },
}

const keyName = 'MODELGATE_API_KEY'

interface Copied {
  readonly name: OperationName
  readonly body: Body
  /** The address of the gateway, with a slash at the end. */
  readonly gateway: string
  /** Of the file of a form. */
  readonly fileName: string
}

/** Tabs of a CodeBlock. The key is taken from the environment: what is copied holds no secret. */
export function copiesOf(copied: Copied): Snippet[] {
  return [
    { title: 'curl', code: curl(copied) },
    { title: 'Python', code: python(copied) },
    { title: 'Node', code: node(copied) },
  ]
}

const addressOf = ({ gateway, name }: Copied): string => gateway + operations[name].path.slice(1)
const isForm = (name: OperationName): boolean => name === 'transcription'
/** A stream is an affair of the page; a program that is pasted prints a whole answer. */
const whole = ({ stream: _, stream_options: __, ...others }: Body): Body => others

function curl(copied: Copied): string {
  const { body, name, fileName } = copied
  const head = `curl ${shell(addressOf(copied))} \\\n  -H "Authorization: Bearer $${keyName}" \\\n`
  if (isForm(name)) {
    const fields = Object.entries(body).map(([field, value]) => `  -F ${shell(`${field}=${String(value)}`)}`)
    return `${head}${[...fields, `  -F ${shell(`file=@${fileName}`)}`].join(' \\\n')}`
  }
  const options = body.stream === true ? '  -N \\\n' : name === 'speech' ? '  -o speech \\\n' : ''
  return `${head}${options}  -H 'Content-Type: application/json' \\\n  -d ${shell(JSON.stringify(body, undefined, 2))}`
}

/** JSON as Python writes it. */
function pythonLiteral(value: unknown, indent = ''): string {
  if (value === null || value === undefined) return 'None'
  if (typeof value === 'boolean') return value ? 'True' : 'False'
  if (typeof value !== 'object') return JSON.stringify(value)
  const inner = `${indent}    `
  const isList = Array.isArray(value)
  const parts = isList
    ? value.map(one => inner + pythonLiteral(one, inner))
    : Object.entries(value).map(([name, one]) => `${inner}${quoted(name)}: ${pythonLiteral(one, inner)}`)
  const [open, close] = isList ? ['[', ']'] : ['{', '}']
  return parts.length === 0 ? open + close : `${open}\n${parts.join(',\n')},\n${indent}${close}`
}

function python(copied: Copied): string {
  const { name, body, gateway, fileName } = copied
  const sdk = sdks[name]
  const imports = `import os\n`
  if (!sdk) {
    const headers = `headers={"Authorization": f"Bearer {os.environ['${keyName}']}"}`
    const given = isForm(name)
      ? `data=${pythonLiteral(body, '    ')},\n    files={"file": open(${quoted(fileName)}, "rb")},`
      : `json=${pythonLiteral(whole(body), '    ')},`
    const shown = name === 'speech' ? 'open("speech", "wb").write(answer.content)' : 'print(answer.json())'
    return `# pip install httpx
${imports}
import httpx

answer = httpx.post(
    ${quoted(addressOf(copied))},
    ${headers},
    ${given}
    timeout=600,
)
answer.raise_for_status()
${shown}`
  }
  const known = new Set(sdk.fields.split(' '))
  const entries = Object.entries(whole(body))
  const extra = entries.filter(([field]) => !known.has(field))
  const lines = entries
    .filter(([field]) => known.has(field))
    .map(([field, value]) => `    ${field}=${pythonLiteral(value, '    ')},`)
  if (extra.length > 0) lines.push(`    extra_body=${pythonLiteral(Object.fromEntries(extra), '    ')},`)
  return `# pip install openai
${imports}
from openai import OpenAI

client = OpenAI(base_url=${quoted(`${gateway}v1`)}, api_key=os.environ["${keyName}"])
answer = client.${sdk.python}(
${lines.join('\n')}
)
print(answer.${sdk.shown})`
}

function node(copied: Copied): string {
  const { name, body, gateway, fileName } = copied
  const sdk = sdks[name]
  const json = JSON.stringify(isForm(name) ? body : whole(body), undefined, 2)
  if (sdk)
    return `// npm install openai
import OpenAI from 'openai'

const client = new OpenAI({ baseURL: ${quoted(`${gateway}v1`)}, apiKey: process.env.${keyName} })
const answer = await client.${sdk.node}(${json})
console.log(answer.${sdk.shown})`
  const authorization = `authorization: \`Bearer \${process.env.${keyName}}\``
  if (isForm(name))
    return `import { openAsBlob } from 'node:fs'

const form = new FormData()
for (const [name, value] of Object.entries(${json})) form.set(name, String(value))
form.set('file', await openAsBlob(${quoted(fileName)}), ${quoted(fileName)})
const answer = await fetch(${quoted(addressOf(copied))}, {
  method: 'POST',
  headers: { ${authorization} },
  body: form,
})
console.log(answer.status, await answer.json())`
  const shown =
    name === 'speech'
      ? `await (await import('node:fs/promises')).writeFile('speech', Buffer.from(await answer.arrayBuffer()))`
      : 'console.log(answer.status, await answer.json())'
  return `const answer = await fetch(${quoted(addressOf(copied))}, {
  method: 'POST',
  headers: { ${authorization}, 'content-type': 'application/json' },
  body: JSON.stringify(${json}),
})
${shown}`
}
