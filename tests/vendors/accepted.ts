/** Deviations that are right: what a vendor takes although its package does not say so. Each with its reason. */

interface Accepted {
  /** The packages, as `Verdict.referee`. */
  readonly referees: readonly string[]
  readonly deviation: RegExp
  readonly why: string
}

const claude = ['@anthropic-ai/sdk', 'anthropic']

const accepted: readonly Accepted[] = [
  {
    referees: ['groq-sdk', 'groq', 'together', 'fireworks-ai'],
    deviation: /^\/stream_options is not known$/,
    why: 'Usage in streams is asked for by it, also by clients that the hosts name in their docs (LangChain, AI SDK).',
  },
  {
    referees: ['openai', 'groq-sdk', 'groq', 'together', 'fireworks-ai', 'cerebras_cloud_sdk'],
    deviation:
      /^\/messages\/\d+\/content(?:\/\d+\/(?:text|type|file|input_audio|image_url) .*| must be (?:str|string), is (?:list|array))$/,
    why: 'What a client says is never left out unsaid: a picture or document that a host cannot read, the host refuses.',
  },
  {
    referees: ['groq-sdk', 'groq', 'together', 'fireworks-ai', 'cerebras_cloud_sdk'],
    deviation: /^\/tool_choice\/(?:type|allowed_tools|function)\b/,
    why: "OpenAI's `allowed_tools` is said to no other tool that is offered: a host that lacks it refuses it itself.",
  },
  {
    referees: ['openai'],
    deviation: /^\/messages\/\d+\/name is not known$/,
    why: "The function's name beside a tool's result: OpenAI's own examples of 2023 have it, and its API takes it.",
  },
  {
    referees: claude,
    deviation: /^\/(?:temperature|top_p|top_k) is not known$/,
    why: 'The types of 2026-09 leave out what models from 4.7 on refuse; for the models before them it is still taken.',
  },
  {
    referees: ['github.com/ollama/ollama/api'],
    deviation: /^\/ json: unknown field "(?:\$schema|additionalProperties)"$/,
    why: "Of a tool's schema Ollama reads a part, and its server passes over the rest.",
  },
  {
    referees: ['@google/genai'],
    deviation: /\/(?:min|max)(?:Length|Items|Properties) must be string, is number$/,
    why: 'An int64: the JSON mapping of Protocol Buffers takes numbers and texts (protobuf.dev/programming-guides/json).',
  },
]

/** A field that the client made up: what no table knows passes to hosts of the client's own dialect. */
const unknownOfClient = /^\/?some_future_field\b/

/** true = the deviation is none of the gateway's. */
export function isAccepted(referee: string, deviation: string): boolean {
  if (unknownOfClient.test(deviation)) return true
  return accepted.some(one => one.referees.includes(referee) && one.deviation.test(deviation))
}
