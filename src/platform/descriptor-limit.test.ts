import { expect, test } from 'bun:test'
import { descriptorLimit, softLimitIn } from './descriptor-limit.ts'

// proc_pid_limits(5), as Linux 6 writes it.
const limits = (
  files: string,
): string => `Limit                     Soft Limit           Hard Limit           Units     
Max cpu time              unlimited            unlimited            seconds   
Max core file size        0                    unlimited            bytes     
Max processes             63448                63448                processes 
Max open files            ${files.padEnd(20)} 524288               files     
Max locked memory         8388608              8388608              bytes     
`

test('the soft limit of open files is read, as a number or as none', () => {
  expect(softLimitIn(limits('1024'))).toBe(1024)
  expect(softLimitIn(limits('unlimited'))).toBe(Infinity)
  expect(softLimitIn('')).toBeUndefined()
  expect(softLimitIn('Max open files\n')).toBeUndefined()
})

test.skipIf(process.platform !== 'linux')('this process has a limit that can be read', () => {
  expect(descriptorLimit()).toBeGreaterThan(64)
})
