/** Amazon Bedrock's Converse, requests and errors: https://docs.aws.amazon.com/bedrock/latest/APIReference/. */
import { ApiError, jsonResponse } from '../response.ts'
import { isJsonObject, objectsOf } from '../../lib/json.ts'
import type { SimulatedResponse } from '../response.ts'
import type { GenerationRequest, ToolDefinition } from '../../generation/types.ts'
import type { JsonObject } from '../../lib/json.ts'
import { checkAwsAuthorization } from './authorization.ts'
import { writeConverse } from './converse-output.ts'
import { readMaxTokens, textOf, reasoningTokensFor } from '../openai/chat.ts'
import type { ErrorDetails } from '../openai/error.ts'
import type { EndpointHandler } from '../endpoint.ts'
import { countTokens } from '../../generation/tokens.ts'

const thinkingTokensMax = 16

const invalid = (message: string): ApiError => new ApiError(message, { code: 'ValidationException' })

function messagesOf(body: JsonObject): JsonObject[] {
  const messages = objectsOf(body.messages)
  if (messages.length === 0)
    throw invalid(
      'A conversation must start with a user message. Try again with a conversation that starts with a user message.',
    )
  messages.forEach((message, at) => {
    if (message.role !== (at % 2 === 0 ? 'user' : 'assistant'))
      throw invalid(
        at === 0
          ? 'A conversation must start with a user message. Try again with a conversation that starts with a user ' +
              'message.'
          : 'A conversation must alternate between user and assistant roles. Make sure the conversation alternates ' +
              'between user and assistant roles and try again.',
      )
    const blocks = objectsOf(message.content)
    if (blocks.length === 0)
      throw invalid(
        `The content field in the Message object at messages.${at} is empty. Add a ContentBlock object to the ` +
          'content field and try again.',
      )
    for (const [place, block] of blocks.entries())
      if (typeof block.text === 'string' && block.text.trim() === '')
        throw invalid(
          `The text field in the ContentBlock object at messages.${at}.content.${place} is blank. Add text to the ` +
            'text field, and try again.',
        )
  })
  return messages
}

const toolName = /^[a-zA-Z0-9_-]{1,64}$/

/** Tool uses and results have to match, and need a `toolConfig`. */
function checkTools(body: JsonObject, messages: readonly JsonObject[]): void {
  const specs = objectsOf(isJsonObject(body.toolConfig) ? body.toolConfig.tools : undefined).map(tool => tool.toolSpec)
  for (const [at, spec] of specs.entries())
    if (isJsonObject(spec) && !toolName.test(String(spec.name)))
      throw invalid(
        `1 validation error detected: Value '${String(spec.name)}' at ` +
          `'toolConfig.tools.${at + 1}.member.toolSpec.name' ` +
          'failed to satisfy constraint: Member must satisfy regular expression pattern: [a-zA-Z0-9_-]+',
      )
  let open: unknown[] = []
  for (const message of messages) {
    const blocks = objectsOf(message.content)
    const results = blocks
      .map(block => block.toolResult)
      .filter(isJsonObject)
      .map(result => result.toolUseId)
    const missing = open.find(id => !results.includes(id))
    if (missing !== undefined)
      throw invalid(`Expected toolResult blocks at messages for the following Ids: ${String(missing)}`)
    if (results.some(id => !open.includes(id)))
      throw invalid('The number of toolResult blocks exceeds the number of toolUse blocks of previous turn.')
    open = blocks
      .map(block => block.toolUse)
      .filter(isJsonObject)
      .map(call => call.toolUseId)
    if (results.length + open.length > 0 && !isJsonObject(body.toolConfig))
      throw invalid('The toolConfig field must be defined when using toolUse and toolResult content blocks.')
  }
}

function readTools(config: JsonObject): ToolDefinition[] {
  return objectsOf(config.tools)
    .map(tool => tool.toolSpec)
    .filter(isJsonObject)
    .map(({ name, inputSchema }) => ({
      name: String(name ?? ''),
      schema: isJsonObject(inputSchema) ? inputSchema.json : undefined,
      takesText: false,
    }))
}

function readToolChoice({ toolChoice: choice }: JsonObject): GenerationRequest['toolChoice'] {
  if (!isJsonObject(choice)) return 'auto'
  if (isJsonObject(choice.tool)) return { name: String(choice.tool.name) }
  return isJsonObject(choice.any) ? 'required' : 'auto'
}

function resultText(result: JsonObject): string {
  return objectsOf(result.content)
    .map(block =>
      typeof block.text === 'string' ? block.text : isJsonObject(block.json) ? JSON.stringify(block.json) : '',
    )
    .join('')
}

/** The field for reasoning differs by model vendor. */
function readThinking({ additionalModelRequestFields: fields }: JsonObject): number {
  if (!isJsonObject(fields)) return 0
  const { thinking, reasoningConfig, reasoning_effort: effort } = fields
  if (isJsonObject(thinking) && thinking.type === 'adaptive') return thinkingTokensMax
  if (isJsonObject(thinking) && thinking.type === 'enabled') {
    if (!(Number(thinking.budget_tokens) >= 1024))
      throw invalid(
        'The model returned the following errors: thinking.enabled.budget_tokens: Input should be greater than or ' +
          'equal to 1024',
      )
    return thinkingTokensMax
  }
  return isJsonObject(reasoningConfig) && reasoningConfig.type === 'enabled'
    ? thinkingTokensMax
    : reasoningTokensFor(effort)
}

/** The JSON Schema is given as text. */
function readFormat({ outputConfig: config }: JsonObject): GenerationRequest['json'] {
  const format = isJsonObject(config) && isJsonObject(config.textFormat) ? config.textFormat : {}
  const structure =
    isJsonObject(format.structure) && isJsonObject(format.structure.jsonSchema)
      ? format.structure.jsonSchema
      : undefined
  if (structure === undefined) return undefined
  try {
    return { schema: JSON.parse(String(structure.schema)) as unknown }
  } catch {
    throw invalid('outputConfig.textFormat.structure.jsonSchema.schema is not valid JSON.')
  }
}

function readConverse(body: JsonObject, model: string): GenerationRequest {
  const messages = messagesOf(body)
  checkTools(body, messages)
  const config = isJsonObject(body.inferenceConfig) ? body.inferenceConfig : {}
  const tools = isJsonObject(body.toolConfig) ? body.toolConfig : {}
  if (typeof config.temperature === 'number' && config.temperature > 1)
    throw invalid(
      `1 validation error detected: Value '${config.temperature}' at 'inferenceConfig.temperature' failed to ` +
        'satisfy constraint: Member must have value less than or equal to 1',
    )
  const blocks = messages.flatMap(message => objectsOf(message.content))
  const results = objectsOf(messages.at(-1)!.content)
    .map(block => block.toolResult)
    .filter(isJsonObject)
  const users = messages.filter(message => message.role === 'user').map(message => textOf(message.content))
  const all = blocks.map(block => (isJsonObject(block.toolResult) ? resultText(block.toolResult) : ''))
  return {
    model,
    userText: users.findLast(text => text !== '') ?? '',
    conversationKey: JSON.stringify([body.system ?? null, messages]),
    inputTokens: countTokens(textOf(body.system) + textOf(blocks) + all.join('')),
    images: blocks.filter(block => isJsonObject(block.image)).length,
    ...(results.length > 0 && { toolResult: results.map(resultText).join(' ') }),
    tools: readTools(tools),
    toolChoice: readToolChoice(tools),
    parallelTools: true,
    json: readFormat(body),
    maxTokens: readMaxTokens(config.maxTokens, 'inferenceConfig.maxTokens'),
    stop: Array.isArray(config.stopSequences) ? config.stopSequences.filter(stop => typeof stop === 'string') : [],
    choices: 1,
    reasoningTokens: readThinking(body),
  }
}

/** `converse` and `converse-stream`. Throws ApiError, also for an invalid signature (`checkAwsAuthorization`). */
export const bedrockConverse: EndpointHandler = ({
  request,
  body,
  model,
  streams,
  generate,
  usageOf,
}): SimulatedResponse => {
  checkAwsAuthorization(request)
  return writeConverse(generate(readConverse(body, model)), { body, streams: streams === true, usageOf })
}

/** `count-tokens` for a Converse body; `invokeModel` bodies are refused. Throws ApiError. */
export const bedrockCount: EndpointHandler = ({ request, body, model }) => {
  checkAwsAuthorization(request)
  const input = isJsonObject(body.input) ? body.input : {}
  if (!isJsonObject(input.converse)) throw invalid('CountTokens needs `input.converse` here.')
  return jsonResponse({ inputTokens: readConverse(input.converse, model).inputTokens })
}

const errors: Record<number, [string, string]> = {
  400: ['ValidationException', 'The request is not valid.'],
  403: ['AccessDeniedException', "You don't have access to the model with the specified model ID."],
  404: ['ResourceNotFoundException', 'Could not resolve the foundation model from the provided model identifier.'],
  408: ['ModelTimeoutException', 'Model has timed out in processing the request. Try your request again.'],
  424: ['ModelErrorException', 'The system encountered an unexpected error during processing. Try your request again.'],
  429: ['ThrottlingException', 'Too many requests, please wait before trying again.'],
  500: [
    'InternalServerException',
    'The system encountered an unexpected error during processing. Try your request again.',
  ],
  503: ['ServiceUnavailableException', 'Bedrock is unable to process your request.'],
}

const kinds: Record<string, string> = {
  quota: 'Too many tokens per day, please wait before trying again.',
  'context-length': 'The model returned the following errors: Input is too long for requested model.',
  'content-filter': 'The request was blocked by the content policy.',
}

const errorOf = ({ status }: ErrorDetails): [string, string] => errors[status] ?? errors[status >= 500 ? 500 : 400]!

/** The exception's name, which AWS sends in the header `x-amzn-errortype`. */
export const bedrockErrorType = (details: ErrorDetails): string => details.code ?? errorOf(details)[0]

/** The body holds the message only; see `bedrockErrorType`. */
export function bedrockError(details: ErrorDetails): JsonObject {
  return { message: details.message ?? kinds[details.kind ?? ''] ?? errorOf(details)[1] }
}
