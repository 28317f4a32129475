import { expect, test } from 'bun:test'
import type { Part } from '../../../core/hub/chat.ts'
import { inputItems } from './input.ts'

test('what this API takes from users alone is named when a model is said to have said it', () => {
  const media: Part[] = [
    { type: 'image', source: { url: 'https://images.example/cat.png' } },
    { type: 'document', source: { fileId: 'file-1' } },
    { type: 'audio', data: 'UklG', format: 'wav' },
  ]
  const names = ['messages.content.image_url', 'messages.content.file', 'messages.content.input_audio']
  for (const [at, part] of media.entries())
    expect(
      inputItems([{ role: 'assistant', parts: [{ type: 'text', text: 'see' }, part, part] }], new Set(), 'host'),
    ).toEqual({ items: [{ role: 'assistant', content: 'see' }], dropped: [names[at]!] })
  const { dropped } = inputItems([{ role: 'user', parts: [media[0]!], name: 'ann' }], new Set(), 'host')
  expect(dropped).toEqual(['messages.name'])
})
