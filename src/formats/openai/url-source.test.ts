import { expect, test } from 'bun:test'
import type { GatewayError } from '../../core/errors.ts'
import { sourceOf } from './url-source.ts'

const refused = (url: string): string => {
  try {
    return JSON.stringify(sourceOf(url, ['messages', 0, 'url']))
  } catch (error) {
    return (error as GatewayError).message
  }
}

test('addresses stay, data: URLs become bytes', () => {
  for (const url of ['https://h/x.png', 'gs://bucket/x', 's3://bucket/x', 'HTTP://h'])
    expect(sourceOf(url, ['input', 0])).toEqual({ url, field: 'input.0' })
  expect(sourceOf('data:image/PNG;base64,aGk=', [])).toEqual({ data: 'aGk=', mediaType: 'image/png' })
  expect(sourceOf('data:;charset=x;base64,aGk', [])).toEqual({ data: 'aGk', mediaType: 'text/plain' })
  expect(sourceOf('data:text/plain,a%20b', [])).toEqual({
    data: Buffer.from('a b').toString('base64'),
    mediaType: 'text/plain',
  })
})

test('what beginners send instead of a picture is refused with what it should be', () => {
  const wanted = 'must be an address with its scheme, such as https://..., or a data: URL'
  expect(refused('iVBORw0KGgoAAAANSUhEUg==')).toBe(
    `messages.0.url: ${wanted}, such as \`data:image/png;base64,...\`; got "iVBORw0KGgoAAAANSUhEUg=="`,
  )
  for (const url of ['/home/me/cat.png', 'cat.png', 'www.example.com/cat.png', ''])
    expect(refused(url)).toContain(wanted)
  expect(refused('data:image/png,iVBORw0KGgo=')).toContain('`;base64` is missing')
  expect(refused('data:image/png;base64')).toContain('a data: URL must look like')
  // Python's `str(base64.b64encode(...))`.
  expect(refused("data:image/png;base64,b'iVBORw0KGgo='")).toContain(`no base64: it has a "'"`)
  expect(refused('data:image/png;base64,[object Object]')).toContain('no base64: it has a "["')
})
