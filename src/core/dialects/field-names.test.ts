import { expect, test } from 'bun:test'
import { FieldNames, routingFields } from './field-names.ts'

test('a name that differs from a known one only by case is that one, also of fields that steer an upstream', () => {
  const names = new FieldNames(['max_tokens', 'stop'])
  expect([names.has('stop'), names.has('Stop')]).toEqual([true, false])
  expect(names.variantOf('Max_Tokens')).toBe('max_tokens')
  // The long s.
  expect(names.variantOf('\u017ftop')).toBe('stop')
  expect(names.variantOf('Route')).toBe('route')
  expect([names.variantOf('route'), names.variantOf('other')]).toEqual([undefined, undefined])
  expect(routingFields.has('models')).toBe(true)
})
