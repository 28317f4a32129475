/** Tools as prompt text: their description for a model without native tool calling, and past calls and results. */
import type { ChatRequest, Message, Part, Tool, ToolChoice } from '../core/hub/chat.ts'
import { appendParts } from './messages.ts'
import { readLiteral } from '../lib/json/literal.ts'
import { exactText } from '../lib/json/exact-json.ts'

/** The instruction for the prompt. Deterministic, because providers cache prompts by their prefix. */
export function describeTools(tools: readonly Tool[], choice: ToolChoice, parallel: boolean): string {
  const several = parallel
    ? 'To call several functions at once, write one such block for each.'
    : 'Call at most one function in an answer.'
  return [
    '# Functions',
    'You can call these functions. Each line is one of them, with the JSON Schema of its arguments:',
    ...tools.map(tool =>
      exactText({ name: tool.name, description: tool.description, parameters: tool.parameters ?? {} }),
    ),
    '',
    'To call a function, write a block of exactly this form, with the arguments as a JSON object:',
    callBlock('function_name', '{"argument":"value"}'),
    several,
    'End your answer after the calls. Their results come back in the next message, in blocks marked tool_output.',
    whenToCall(choice),
  ].join('\n')
}

function whenToCall(choice: ToolChoice): string {
  if (typeof choice === 'object') return `You must call the function ${choice.name} in this answer.`
  if (choice === 'required') return 'You must call at least one of the functions in this answer.'
  return 'Call a function only where it helps; otherwise answer in plain text without such a block.'
}

function callBlock(name: string, argumentsJson: string): string {
  return `\`\`\`tool_code\n{"name":${JSON.stringify(name)},"arguments":${argumentsJson}}\n\`\`\``
}

/** true = the conversation holds tool calls or tool results, which only a model with native tool calling takes. */
export function hasToolParts(messages: readonly Message[]): boolean {
  return messages.some(message => message.role === 'tool' || message.parts.some(isToolPart))
}

const isToolPart = (part: Part): boolean => part.type === 'tool-call' || part.type === 'tool-result'

/** The messages with past calls and results as text in the notation of `describeTools`; results become the user's. */
export function toolCallsAsText(request: ChatRequest): Message[] {
  const names = new Map<string, string>()
  const messages: Message[] = []
  /** The message that collects adjacent tool messages: the results of one turn arrive as one message each. */
  let results: Message | undefined
  for (const message of request.messages) {
    for (const part of message.parts) if (part.type === 'tool-call') names.set(part.id, part.name)
    const parts: Part[] = []
    for (const part of message.parts) {
      if (isToolPart(part)) appendParts(parts, toolPartAsText(part, names))
      else parts.push(part)
    }
    if (message.role !== 'tool') {
      results = undefined
      messages.push(message.parts.some(isToolPart) ? { ...message, parts } : message)
    } else if (results) appendParts(results.parts, parts)
    else messages.push((results = { role: 'user', parts }))
  }
  return messages
}

function toolPartAsText(part: Part, names: ReadonlyMap<string, string>): Part[] {
  if (part.type === 'tool-call') {
    // Arguments that the model wrote may not be JSON; they are then sent as a JSON string.
    const argumentsText = part.arguments.trim() === '' ? '{}' : part.arguments
    const json = readLiteral(argumentsText)?.json ?? JSON.stringify(argumentsText)
    return [{ type: 'text', text: callBlock(part.name, json), ...(part.cache && { cache: part.cache }) }]
  }
  if (part.type !== 'tool-result') return [part]
  const text = part.parts.flatMap(one => (one.type === 'text' ? [one.text] : [])).join('\n')
  const name = part.name ?? names.get(part.callId) ?? part.callId
  const head = part.isError ? `The call of ${name} failed:` : `Result of ${name}:`
  const result: Part = { type: 'text', text: `${head}\n${fenced(text)}`, ...(part.cache && { cache: part.cache }) }
  return [result, ...part.parts.filter(one => one.type !== 'text')]
}

/** A fence longer than any in the text, so that a result cannot end its own block. */
function fenced(text: string): string {
  const longest = (text.match(/`{3,}/g) ?? []).reduce((most, run) => Math.max(most, run.length), 2)
  const fence = '`'.repeat(longest + 1)
  return `${fence}tool_output\n${text}\n${fence}`
}
