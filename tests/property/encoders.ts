/** Requests of the hub in the words of the clients: the way that only tests go. */
import type { ChatRequest, Message, Part, Source, Tool } from '../../src/core/hub/chat.ts'
import { encodeSignature } from '../../src/formats/anthropic/thinking-signature.ts'
import { encodeThoughts } from '../../src/formats/gemini/thought-signature.ts'
import type { SignedThought } from '../../src/formats/gemini/thought-signature.ts'
import { encodeProof } from '../../src/formats/openai/responses/encrypted-reasoning.ts'

export type Json = Record<string, unknown>
type Reasoning = Extract<Part, { type: 'reasoning' }>
type Result = Extract<Part, { type: 'tool-result' }>

const defined = (fields: Json): Json =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))
const dataUrl = (source: Source): string =>
  'url' in source ? source.url : 'data' in source ? `data:${source.mediaType};base64,${source.data}` : source.fileId
const cacheOf = (part: { cache?: unknown }): Json => (part.cache === undefined ? {} : { cache_control: part.cache })
const resultOf = (message: Message): Result => message.parts[0] as Result
const is =
  <T extends Part['type']>(type: T) =>
  (part: Part): part is Extract<Part, { type: T }> =>
    part.type === type

/** OpenAI's chat completions. */
export function chatBody(request: ChatRequest): Json {
  const { reasoning, responseFormat: format, toolChoice: choice } = request
  return defined({
    model: request.model,
    messages: request.messages.map(chatMessage),
    stream: request.stream,
    stream_options: request.includeUsage ? { include_usage: true } : undefined,
    n: request.choices,
    max_completion_tokens: request.maxOutputTokens,
    temperature: request.temperature,
    top_p: request.topP,
    top_k: request.topK,
    stop: request.stop,
    seed: request.seed,
    frequency_penalty: request.frequencyPenalty,
    presence_penalty: request.presencePenalty,
    logit_bias: request.logitBias,
    logprobs: request.logprobs,
    top_logprobs: request.topLogprobs,
    tools: request.tools?.map(({ name, description, parameters, strict, cache }) => ({
      type: 'function',
      function: defined({ name, description, parameters, strict }),
      ...cacheOf({ cache }),
    })),
    tool_choice: typeof choice === 'object' ? { type: 'function', function: { name: choice.name } } : choice,
    parallel_tool_calls: request.parallelToolCalls,
    response_format:
      format &&
      (format.type === 'json-schema'
        ? { type: 'json_schema', json_schema: { ...format, type: undefined } }
        : { type: format.type === 'json-object' ? 'json_object' : 'text' }),
    reasoning:
      reasoning &&
      defined({ effort: reasoning.effort, max_tokens: reasoning.budgetTokens, enabled: reasoning.enabled }),
    user: request.user,
    metadata: request.metadata,
    service_tier: request.serviceTier,
    ...request.extra.fields,
  })
}

function chatMessage(message: Message): Json {
  const { role, name, parts } = message
  if (role === 'tool') {
    const result = resultOf(message)
    return defined({
      role,
      tool_call_id: result.callId,
      name: result.name,
      content: result.parts.map(chatPart),
      ...cacheOf(result),
    })
  }
  if (role !== 'assistant') return defined({ role, name, content: parts.map(chatPart) })
  const calls = parts.filter(is('tool-call'))
  const said = parts.filter(part => part.type === 'text')
  const thoughts = parts.filter(is('reasoning'))
  return defined({
    role,
    name,
    content: said.length > 0 ? said.map(chatPart) : null,
    refusal: parts.find(is('refusal'))?.text,
    thinking_blocks: thoughts.length > 0 ? thoughts.map(thinkingBlock) : undefined,
    tool_calls:
      calls.length > 0
        ? calls.map(call => ({
            id: call.id,
            type: 'function',
            function: { name: call.name, arguments: call.arguments },
            ...cacheOf(call),
          }))
        : undefined,
  })
}

function thinkingBlock({ text, signature, redacted }: Reasoning): Json {
  return redacted === undefined
    ? defined({ type: 'thinking', thinking: text, signature })
    : { type: 'redacted_thinking', data: redacted }
}

function chatPart(part: Part): Json {
  switch (part.type) {
    case 'text':
      return { type: 'text', text: part.text, ...cacheOf(part) }
    case 'image':
      return {
        type: 'image_url',
        image_url: defined({ url: dataUrl(part.source), detail: part.detail }),
        ...cacheOf(part),
      }
    case 'audio':
      return { type: 'input_audio', input_audio: { data: part.data, format: part.format } }
    case 'document':
      return {
        type: 'file',
        file: defined({
          ...('fileId' in part.source ? { file_id: part.source.fileId } : { file_data: dataUrl(part.source) }),
          filename: part.name,
        }),
        ...cacheOf(part),
      }
    default:
      throw new Error(`a chat message holds no ${part.type}`)
  }
}

/** OpenAI's responses. */
export function responsesBody(request: ChatRequest): Json {
  const { responseFormat: format, toolChoice: choice } = request
  return defined({
    model: request.model,
    input: request.messages.flatMap(responsesItems),
    stream: request.stream,
    max_output_tokens: request.maxOutputTokens,
    temperature: request.temperature,
    top_p: request.topP,
    include: request.logprobs && request.topLogprobs === undefined ? ['message.output_text.logprobs'] : undefined,
    top_logprobs: request.topLogprobs,
    tools: request.tools?.map(({ name, description, parameters, strict }) =>
      defined({ type: 'function', name, description, parameters, strict }),
    ),
    tool_choice: typeof choice === 'object' ? { type: 'function', name: choice.name } : choice,
    parallel_tool_calls: request.parallelToolCalls,
    text: format && {
      format: format.type === 'json-schema' ? defined({ ...format, type: 'json_schema' }) : { type: 'json_object' },
    },
    reasoning: request.reasoning && { effort: request.reasoning.effort },
    user: request.user,
    service_tier: request.serviceTier,
  })
}

function responsesItems(message: Message): Json[] {
  if (message.role === 'tool') {
    const { callId, parts } = resultOf(message)
    return [{ type: 'function_call_output', call_id: callId, output: parts.map(responsesPart) }]
  }
  if (message.role !== 'assistant')
    return [{ type: 'message', role: message.role, content: message.parts.map(responsesPart) }]
  return message.parts.map(part => {
    if (part.type === 'tool-call')
      return { type: 'function_call', call_id: part.id, name: part.name, arguments: part.arguments }
    if (part.type !== 'reasoning')
      return {
        type: 'message',
        role: 'assistant',
        content: [
          part.type === 'text' ? { type: 'output_text', text: part.text, annotations: [] } : responsesPart(part),
        ],
      }
    const proof = encodeProof(part)
    return {
      type: 'reasoning',
      id: 'rs_1',
      summary: part.text === '' ? [] : [{ type: 'summary_text', text: part.text }],
      ...(proof !== undefined && { encrypted_content: proof }),
    }
  })
}

function responsesPart(part: Part): Json {
  switch (part.type) {
    case 'text':
      return { type: 'input_text', text: part.text }
    case 'refusal':
      return { type: 'refusal', refusal: part.text }
    case 'image':
      return defined({
        type: 'input_image',
        ...('fileId' in part.source ? { file_id: part.source.fileId } : { image_url: dataUrl(part.source) }),
        detail: part.detail,
      })
    case 'audio':
      return { type: 'input_audio', input_audio: { data: part.data, format: part.format } }
    case 'document':
      return defined({
        type: 'input_file',
        ...('fileId' in part.source
          ? { file_id: part.source.fileId }
          : 'url' in part.source
            ? { file_url: part.source.url }
            : { file_data: dataUrl(part.source) }),
        filename: part.name,
      })
    default:
      throw new Error(`a message holds no ${part.type}`)
  }
}

/** Gemini's `generateContent`. */
export function geminiBody(request: ChatRequest): Json {
  const { reasoning, responseFormat: format, toolChoice: choice, messages } = request
  const [system, rest] = messages[0]?.role === 'system' ? [messages[0], messages.slice(1)] : [undefined, messages]
  const thinking =
    reasoning &&
    defined({
      thinkingLevel: reasoning.effort?.toUpperCase(),
      thinkingBudget: reasoning.enabled === false ? 0 : reasoning.budgetTokens,
      includeThoughts: reasoning.enabled === true ? true : undefined,
    })
  const config = defined({
    temperature: request.temperature,
    topP: request.topP,
    topK: request.topK,
    candidateCount: request.choices,
    maxOutputTokens: request.maxOutputTokens,
    stopSequences: request.stop,
    seed: request.seed,
    presencePenalty: request.presencePenalty,
    frequencyPenalty: request.frequencyPenalty,
    responseLogprobs: request.logprobs,
    logprobs: request.topLogprobs,
    responseMimeType: format && 'application/json',
    responseJsonSchema: format?.type === 'json-schema' ? format.schema : undefined,
    thinkingConfig: thinking,
  })
  return defined({
    systemInstruction: system && { parts: system.parts.map(geminiPart) },
    contents: geminiContents(rest),
    tools: request.tools && [
      {
        functionDeclarations: request.tools.map(({ name, description, parameters }) =>
          defined({ name, description, parametersJsonSchema: parameters }),
        ),
      },
    ],
    toolConfig: choice && {
      functionCallingConfig:
        typeof choice === 'object'
          ? { mode: 'ANY', allowedFunctionNames: [choice.name] }
          : { mode: { auto: 'AUTO', none: 'NONE', required: 'ANY' }[choice] },
    },
    generationConfig: Object.keys(config).length > 0 ? config : undefined,
    serviceTier: request.serviceTier,
  })
}

function geminiContents(messages: readonly Message[]): Json[] {
  return messages.map(message => {
    if (message.role === 'assistant') return { role: 'model', parts: geminiModelParts(message.parts) }
    if (message.role !== 'tool') return { role: 'user', parts: message.parts.map(geminiPart) }
    const { callId, name, parts, isError } = resultOf(message)
    const text = parts
      .filter(is('text'))
      .map(part => part.text)
      .join('')
    const media = parts.filter(part => part.type !== 'text')
    const response = {
      id: callId,
      name,
      response: { [isError ? 'error' : 'output']: text },
      ...(media.length > 0 && { parts: media.map(geminiPart) }),
    }
    return { role: 'user', parts: [{ functionResponse: response }] }
  })
}

/** Signed thinking travels in the signature of the part behind it. */
function geminiModelParts(parts: readonly Part[]): Json[] {
  const out: Json[] = []
  let sealed: SignedThought[] = []
  for (const part of parts) {
    if (part.type === 'reasoning' && part.redacted !== undefined) sealed.push({ redacted: part.redacted })
    else if (part.type === 'reasoning' && part.signature !== undefined)
      sealed.push({ text: part.text, signature: part.signature })
    else {
      out.push({
        ...(part.type === 'reasoning' ? { text: part.text, thought: true } : geminiPart(part)),
        ...(sealed.length > 0 && { thoughtSignature: encodeThoughts(sealed) }),
      })
      sealed = []
    }
  }
  return sealed.length > 0 ? [...out, { text: '', thoughtSignature: encodeThoughts(sealed) }] : out
}

function geminiPart(part: Part): Json {
  switch (part.type) {
    case 'text':
      return { text: part.text }
    case 'image':
      return 'data' in part.source
        ? { inlineData: { mimeType: part.source.mediaType, data: part.source.data } }
        : { fileData: { mimeType: 'image/png', fileUri: dataUrl(part.source) } }
    case 'audio':
      return { inlineData: { mimeType: `audio/${part.format}`, data: part.data } }
    case 'document':
      return 'data' in part.source
        ? { inlineData: defined({ mimeType: part.source.mediaType, data: part.source.data, displayName: part.name }) }
        : { fileData: defined({ mimeType: 'application/pdf', fileUri: dataUrl(part.source), displayName: part.name }) }
    case 'tool-call':
      return { functionCall: { id: part.id, name: part.name, args: JSON.parse(part.arguments) as unknown } }
    default:
      throw new Error(`a content holds no ${part.type}`)
  }
}

/** Anthropic's messages. */
export function anthropicBody(request: ChatRequest): Json {
  const { reasoning, responseFormat: format, toolChoice: choice, messages } = request
  const [system, rest] = messages[0]?.role === 'system' ? [messages[0], messages.slice(1)] : [undefined, messages]
  const config = defined({
    effort: reasoning?.effort,
    format: format?.type === 'json-schema' ? { type: 'json_schema', schema: format.schema } : undefined,
  })
  const single = request.parallelToolCalls === false ? { disable_parallel_tool_use: true } : {}
  return defined({
    model: request.model,
    max_tokens: request.maxOutputTokens,
    system: system?.parts.map(anthropicPart),
    messages: anthropicMessages(rest),
    stream: request.stream,
    temperature: request.temperature,
    top_p: request.topP,
    top_k: request.topK,
    stop_sequences: request.stop,
    tools: request.tools?.map(anthropicTool),
    tool_choice: choice && {
      type: typeof choice === 'object' ? 'tool' : { auto: 'auto', none: 'none', required: 'any' }[choice],
      ...(typeof choice === 'object' && { name: choice.name }),
      ...single,
    },
    thinking:
      reasoning?.enabled === undefined
        ? undefined
        : reasoning.enabled
          ? defined({
              type: reasoning.budgetTokens === undefined ? 'adaptive' : 'enabled',
              budget_tokens: reasoning.budgetTokens,
            })
          : { type: 'disabled' },
    output_config: Object.keys(config).length > 0 ? config : undefined,
    metadata: request.user === undefined ? undefined : { user_id: request.user },
    service_tier: request.serviceTier === 'default' ? 'standard_only' : request.serviceTier,
  })
}

const anthropicTool = ({ name, description, parameters, strict, cache }: Tool): Json =>
  defined({ name, description, input_schema: parameters, strict, ...cacheOf({ cache }) })

/** Results of one turn and what follows them are one message of the user. */
function anthropicMessages(messages: readonly Message[]): Json[] {
  const out: { role: string; content: Json[] }[] = []
  let open = false
  for (const message of messages) {
    const content = message.role === 'tool' ? [anthropicResult(resultOf(message))] : message.parts.map(anthropicPart)
    if (open && (message.role === 'tool' || message.role === 'user')) out.at(-1)!.content.push(...content)
    else out.push({ role: message.role === 'assistant' || message.role === 'system' ? message.role : 'user', content })
    open = message.role === 'tool'
  }
  return out
}

function anthropicResult({ callId, parts, isError, cache }: Result): Json {
  return defined({
    type: 'tool_result',
    tool_use_id: callId,
    content: parts.map(anthropicPart),
    is_error: isError,
    ...cacheOf({ cache }),
  })
}

function anthropicSource(source: Source): Json {
  if ('fileId' in source) return { type: 'file', file_id: source.fileId }
  if ('url' in source) return { type: 'url', url: source.url }
  if (source.mediaType === 'text/plain')
    return { type: 'text', media_type: 'text/plain', data: Buffer.from(source.data, 'base64').toString('utf8') }
  return { type: 'base64', media_type: source.mediaType, data: source.data }
}

function anthropicPart(part: Part): Json {
  switch (part.type) {
    case 'text':
      return { type: 'text', text: part.text, ...cacheOf(part) }
    case 'image':
      return { type: 'image', source: anthropicSource(part.source), ...cacheOf(part) }
    case 'document':
      return defined({ type: 'document', source: anthropicSource(part.source), title: part.name, ...cacheOf(part) })
    case 'reasoning':
      return part.redacted === undefined
        ? { type: 'thinking', thinking: part.text, signature: encodeSignature(part.signature) }
        : { type: 'redacted_thinking', data: part.redacted }
    case 'tool-call':
      return {
        type: 'tool_use',
        id: part.id,
        name: part.name,
        input: JSON.parse(part.arguments) as unknown,
        ...cacheOf(part),
      }
    default:
      throw new Error(`a message holds no ${part.type}`)
  }
}
