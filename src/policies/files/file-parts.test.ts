/** Where ids stand in the bodies of each dialect, and what a file looks like in their place. */
import { describe, expect, test } from 'bun:test'
import { newId } from '../../files/objects.ts'
import { isLocalFileId } from '../../core/objects/files.ts'
import { JsonBody } from '../../lib/json/json-body.ts'
import { fileReferences, rewriteReferences } from './file-parts.ts'
import type { InlineFile } from './file-parts.ts'

type Json = Record<string, any>

const [a, b, c, d] = [newId('file'), newId('file'), newId('file'), newId('file')]
const bodyOf = (value: object) => JsonBody.read(Buffer.from(JSON.stringify(value)))
const rewritten = (value: object, visit: Parameters<typeof rewriteReferences>[1]): Json => {
  const body = bodyOf(value)
  const before = JSON.stringify(body.parse())
  const after = JSON.parse(Buffer.concat(body.edited(rewriteReferences(body, visit))).toString('utf8')) as Json
  // What was parsed is shared with all other readers of the body.
  expect(JSON.stringify(body.parse())).toBe(before)
  return after
}
const noText = (): never => {
  throw new Error('this is no text')
}
const pdf: InlineFile = { filename: 'a.pdf', mediaType: 'application/pdf', data: 'JVBERi0=', text: noText }
const png: InlineFile = { filename: 'a.png', mediaType: 'image/png', data: 'iVBORw==', text: noText }
const text: InlineFile = {
  filename: 'a.md',
  mediaType: 'text/markdown',
  data: Buffer.from('é').toString('base64'),
  text: () => 'é',
}

test('only ids in the manner of this gateway are its own', () => {
  for (const id of [a, b, c, d]) expect(isLocalFileId(id)).toBe(true)
  for (const id of [
    '',
    'file-',
    a.toUpperCase(),
    `${a}0`,
    a.slice(0, -1),
    ` ${a}`,
    `${a}\n`,
    'file-9f4c5e8ab1fa4f4e9d5e5b3b5b5f5f5f',
    'file-abc123',
    `batch_${a.slice(5)}`,
  ])
    expect(isLocalFileId(id)).toBe(false)
})

describe('every dialect', () => {
  const cases: [string, object, [string, string][]][] = [
    [
      'chat',
      {
        messages: [
          { role: 'system', content: a },
          null,
          {
            role: 'user',
            content: [{ type: 'text', text: a, file_id: a }, 5, { type: 'file', file: { file_id: b, filename: 'x' } }],
          },
          { role: 'tool', content: [{ type: 'file', file: { file_id: a } }] },
          {
            role: 'user',
            content: [
              { type: 'file', file: { file_id: 'file-theirs' } },
              { type: 'file', file: null },
              { type: 'other', file_id: a },
            ],
          },
        ],
        metadata: { file_id: a },
        prediction: { type: 'content', content: a },
      },
      [
        ['messages.2.content.2.file.file_id', b],
        ['messages.3.content.0.file.file_id', a],
      ],
    ],
    [
      'responses',
      {
        input: [
          {
            role: 'user',
            content: [
              { type: 'input_file', file_id: a },
              { type: 'input_image', file_id: b },
            ],
          },
          { type: 'function_call', arguments: a, file_id: a },
          { type: 'function_call_output', output: [{ type: 'input_file', file_id: c }] },
          { type: 'computer_call_output', output: { type: 'computer_screenshot', file_id: d } },
          { type: 'function_call_output', output: a },
        ],
        tools: [
          { type: 'function', parameters: { file_id: a } },
          { type: 'code_interpreter', container: 'cntr_1' },
          { type: 'code_interpreter', container: { type: 'auto', file_ids: ['file-theirs', d, 1] } },
        ],
      },
      [
        ['input.0.content.0.file_id', a],
        ['input.0.content.1.file_id', b],
        ['input.2.output.0.file_id', c],
        ['input.3.output.file_id', d],
        ['tools.2.container.file_ids.1', d],
      ],
    ],
    [
      'messages',
      {
        messages: [
          {
            role: 'user',
            content: [
              { type: 'document', source: { type: 'file', file_id: a } },
              { type: 'image', source: { type: 'file', file_id: b } },
              { type: 'container_upload', file_id: c },
            ],
          },
          {
            role: 'assistant',
            content: [{ type: 'tool_use', input: { type: 'document', source: { type: 'file', file_id: a } } }],
          },
          {
            role: 'user',
            content: [
              { type: 'tool_result', content: [{ type: 'image', source: { type: 'file', file_id: d } }] },
              {
                type: 'document',
                source: { type: 'content', content: [{ type: 'image', source: { type: 'file', file_id: a } }] },
              },
            ],
          },
        ],
      },
      [
        ['messages.0.content.0.source.file_id', a],
        ['messages.0.content.1.source.file_id', b],
        ['messages.0.content.2.file_id', c],
        ['messages.2.content.0.content.0.source.file_id', d],
        ['messages.2.content.1.source.content.0.source.file_id', a],
      ],
    ],
  ]
  test.each(cases)('%s: each id is found, and nothing else changes with it', (_, value, places) => {
    expect(fileReferences(bodyOf(value)).map(({ path, id }) => [path.join('.'), id])).toEqual(places)
    const up = (id: string) => `up-${id}`
    const expected = structuredClone(value) as Json
    for (const [path, id] of places) {
      const steps = path.split('.')
      const last = steps.pop()!
      steps.reduce((at, step) => at[step], expected)[last] = up(id)
    }
    expect(rewritten(value, reference => reference.withId(up(reference.id)))).toEqual(expected)
  })

  test('bodies without ids are not rewritten, with any fields', () => {
    for (const value of [
      {},
      { messages: a },
      { messages: [[a]], input: a, tools: { type: 'code_interpreter' } },
      { input: [{ content: [{ type: 'input_file', file_id: 7 }] }] },
    ])
      expect(rewriteReferences(bodyOf(value), () => 'wrong')).toEqual([])
  })
})

describe('the file in place of its id', () => {
  const inlined = (part: Json, file: InlineFile) => {
    const [reference] = fileReferences(bodyOf({ messages: [{ content: [part] }] }))
    return reference!.inlined(file)
  }

  test('chat', () => {
    const part = { type: 'file', file: { file_id: a, filename: 'mine.pdf' }, cache_control: { type: 'ephemeral' } }
    expect(inlined(part, pdf)).toEqual({
      ...part,
      file: { filename: 'mine.pdf', file_data: 'data:application/pdf;base64,JVBERi0=' },
    })
    expect(inlined({ type: 'file', file: { file_id: a } }, text)).toEqual({
      type: 'file',
      file: { filename: 'a.md', file_data: 'data:text/markdown;base64,w6k=' },
    })
    expect(inlined(part, png)).toEqual({
      type: 'image_url',
      image_url: { url: 'data:image/png;base64,iVBORw==' },
      cache_control: { type: 'ephemeral' },
    })
  })

  test('responses', () => {
    expect(inlined({ type: 'input_file', file_id: a }, pdf)).toEqual({
      type: 'input_file',
      filename: 'a.pdf',
      file_data: 'data:application/pdf;base64,JVBERi0=',
    })
    expect(inlined({ type: 'input_file', file_id: a, filename: 'x' }, png)).toEqual({
      type: 'input_image',
      image_url: 'data:image/png;base64,iVBORw==',
    })
    expect(inlined({ type: 'input_image', file_id: a, detail: 'low' }, png)).toEqual({
      type: 'input_image',
      detail: 'low',
      image_url: 'data:image/png;base64,iVBORw==',
    })
    for (const type of ['input_image', 'computer_screenshot'])
      expect(inlined({ type, file_id: a }, pdf)).toBeUndefined()
  })

  test('messages', () => {
    const source = { type: 'file', file_id: a }
    expect(inlined({ type: 'document', source, title: 'T' }, pdf)).toEqual({
      type: 'document',
      title: 'T',
      source: { type: 'base64', media_type: 'application/pdf', data: 'JVBERi0=' },
    })
    expect(inlined({ type: 'document', source }, text)).toEqual({
      type: 'document',
      title: 'a.md',
      source: { type: 'text', media_type: 'text/plain', data: 'é' },
    })
    expect(inlined({ type: 'document', source, citations: { enabled: true } }, png)).toEqual({
      type: 'image',
      source: { type: 'base64', media_type: 'image/png', data: 'iVBORw==' },
    })
    expect(inlined({ type: 'image', source }, pdf)).toBeUndefined()
    expect(inlined({ type: 'container_upload', file_id: a }, pdf)).toBeUndefined()
  })
})
