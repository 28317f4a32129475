/** Which fields of a chat request a model takes, in OpenAI's names. */
import type { ChatRequest, Tool } from './chat.ts'
import type { Deployment, ModelProfile } from './deployment.ts'
import type { Target } from './provider.ts'
import { GatewayError } from './errors.ts'

const toolParams = ['tools', 'tool_choice', 'parallel_tool_calls', 'functions', 'function_call']
/** What a safety classifier reads: it judges one message and writes one word. */
const guardParams: ReadonlySet<string> = new Set([
  'model',
  'messages',
  'stream',
  'stream_options',
  'max_tokens',
  'max_completion_tokens',
  'temperature',
  'seed',
  'user',
  'metadata',
])

/**
 * Fields that mean nothing to a model without the ability; `model_info` and the catalogue say false, true or nothing.
 */
const paramsOfFlag: Readonly<Record<string, readonly string[]>> = {
  supports_function_calling: toolParams,
  supports_tool_choice: ['tool_choice', 'function_call'],
  supports_parallel_function_calling: ['parallel_tool_calls'],
  supports_reasoning: ['reasoning_effort', 'thinking'],
  supports_web_search: ['web_search_options'],
  supports_audio_output: ['audio'],
}

/** What every one of these deployments takes, in the order of the first: nobody knows which of them will answer. */
export function supportedParams(deployments: readonly Deployment[]): string[] {
  const [first, ...others] = deployments.map(paramsOf)
  return first?.filter(param => others.every(other => other.includes(param))) ?? []
}

function paramsOf({ target, profile, info }: Deployment): string[] {
  const { chatParams } = target.provider
  const params = [...new Set([...chatParams.filter(param => isTaken(param, target)), ...played(profile)])]
  if (profile.guard) return params.filter(param => guardParams.has(param))
  const without = new Set(
    Object.entries(paramsOfFlag).flatMap(([flag, names]) =>
      info[flag] === false ? names.filter(name => !isPlayed(name, profile)) : [],
    ),
  )
  if (profile.toolCalling === 'none') for (const param of toolParams) without.add(param)
  return params.filter(param => !without.has(param))
}

const playsTools = ({ toolCalling }: ModelProfile): boolean => toolCalling !== 'native' && toolCalling !== 'none'
const isPlayed = (param: string, profile: ModelProfile): boolean => playsTools(profile) && toolParams.includes(param)

/** What the gateway does for the model, whatever its host takes. */
function played(profile: ModelProfile): string[] {
  return [
    ...(playsTools(profile) ? toolParams : []),
    ...(profile.structuredOutput === 'native' ? [] : ['response_format']),
  ]
}

const tools: Tool[] = [{ name: 'name', parameters: { type: 'object', properties: {} } }]
const schema = { type: 'object', properties: {}, additionalProperties: false }

/** A wish by each field, in the hub's words; where there are several, one that is granted is enough. */
const wishes: Readonly<Record<string, readonly Partial<ChatRequest>[]>> = {
  temperature: [{ temperature: 0.5 }],
  top_p: [{ topP: 0.5 }],
  top_k: [{ topK: 5 }],
  n: [{ choices: 2 }],
  stop: [{ stop: ['stop'] }],
  seed: [{ seed: 1 }],
  frequency_penalty: [{ frequencyPenalty: 0.5 }],
  presence_penalty: [{ presencePenalty: 0.5 }],
  logit_bias: [{ logitBias: { 1: 1 } }],
  logprobs: [{ logprobs: true }],
  top_logprobs: [{ logprobs: true, topLogprobs: 1 }],
  tools: [{ tools }],
  functions: [{ tools }],
  tool_choice: [
    { tools, toolChoice: 'required' },
    { tools, toolChoice: { name: 'name' } },
  ],
  function_call: [{ tools, toolChoice: { name: 'name' } }],
  parallel_tool_calls: [{ tools, parallelToolCalls: false }],
  response_format: [
    { responseFormat: { type: 'json-object' } },
    { responseFormat: { type: 'json-schema', name: 'name', schema } },
  ],
  reasoning_effort: [{ reasoning: { effort: 'high' } }, { reasoning: { effort: 'low' } }],
  thinking: [{ reasoning: { budgetTokens: 2048 } }],
  user: [{ user: 'user' }],
  metadata: [{ metadata: { name: 'value' } }],
  service_tier: ['default', 'flex', 'priority'].map(serviceTier => ({ serviceTier })),
}
/** By which a loss may also be reported. */
const otherNames: Readonly<Record<string, readonly string[]>> = {
  functions: ['tools'],
  function_call: ['tool_choice'],
  thinking: ['reasoning', 'reasoning_effort'],
  reasoning_effort: ['reasoning', 'thinking'],
}

/** Models of one provider differ: its own translation says what it would leave out. Nothing is sent. */
function isTaken(param: string, target: Target): boolean {
  const { chat } = target.provider
  const asked = wishes[param]
  if (!chat || !asked) return true
  const names = [param, ...(otherNames[param] ?? [])]
  return asked.some(wish => {
    try {
      const { dropped } = chat.request({ ...bare, ...wish }, target)
      return !dropped.some(name => names.includes(name.split('.')[0]!))
    } catch (error) {
      if (error instanceof GatewayError) return false
      throw error
    }
  })
}

const bare: ChatRequest = {
  model: 'model',
  messages: [{ role: 'user', parts: [{ type: 'text', text: 'text' }] }],
  stream: false,
  includeUsage: false,
  extra: { format: 'openai-chat', fields: {} },
}
