/**
 * Tools that take plain text (`custom`), of chat completions and of Responses, as tools of the hub. Clients write them
 * nested (`{type, custom: {name, format}}`; API reference, "Create chat completion") or flat (`{type, name, format}`),
 * as in Responses; Cursor sends these to the chat path too.
 */
import type { ChatRequest, FreeTextFormat, Tool } from '../../core/hub/chat.ts'
import { freeTextArguments, freeTextOf } from '../../core/hub/tool-arguments.ts'
import { isObject } from '../../lib/json/json-values.ts'
import type { Json } from '../../lib/json/json-values.ts'

/** The tool under its name at the upstream; `definition` holds `format`, `description` what the prompt says of it. */
export function textTool({ format }: Json, name: string, description: string): Tool {
  const known = formatOf(format)
  const grammar =
    known?.type === 'grammar' ? `The input must follow this grammar (${known.syntax}):\n${known.definition}` : ''
  return {
    name,
    description: [description, grammar].filter(text => text !== '').join('\n\n') || `Calls ${name} with free text.`,
    parameters: {
      type: 'object',
      properties: { input: { type: 'string', description: 'The whole input of the tool, as plain text.' } },
      required: ['input'],
      additionalProperties: false,
    },
    freeText: { ...(description !== '' && { description }), ...(known && { format: known }) },
  }
}

/** Chat completions have the grammar in an object of its own. */
function formatOf(format: unknown): FreeTextFormat | undefined {
  if (!isObject(format)) return undefined
  if (format.type === 'text') return { type: 'text' }
  const { syntax, definition } = isObject(format.grammar) ? format.grammar : format
  if (format.type !== 'grammar' || typeof definition !== 'string') return undefined
  return { type: 'grammar', syntax: String(syntax), definition }
}

/** What is lost where tools of plain text are functions. */
export const lostGrammar = 'tools.format'

/** true = one of the tools has a grammar. */
export function hasGrammar(tools: readonly Tool[] | undefined): boolean {
  return tools?.some(tool => tool.freeText?.format?.type === 'grammar') ?? false
}

/**
 * How chat answers write the calls of text tools, by name: as they were declared, or, for Cursor, which reads no other
 * calls, as functions whose arguments are the text itself.
 */
type CallShape = 'custom' | 'function'

const callShapes = Symbol('shapes of calls')

interface MarkedRequest extends ChatRequest {
  [callShapes]?: ReadonlyMap<string, CallShape>
}

/** Marks `request` itself, and turns the texts that such functions got before into arguments. */
export function markTextTools(request: ChatRequest, shapes: ReadonlyMap<string, CallShape>): void {
  if (shapes.size === 0) return
  const marked: MarkedRequest = request
  marked[callShapes] = shapes
  for (const { parts } of request.messages)
    for (const part of parts)
      if (part.type === 'tool-call' && shapes.has(part.name))
        part.arguments = freeTextArguments(freeTextOf(part.arguments))
}

/** undefined = a function. */
export function callShapeOf(request: ChatRequest, name: string): CallShape | undefined {
  return (request as MarkedRequest)[callShapes]?.get(name)
}
