/** Opens what NaCl's `crypto_secretbox` has sealed (XSalsa20 and Poly1305), which the runtime cannot. */
import { xsalsa20poly1305 } from '@noble/ciphers/salsa.js'

const nonceBytes = 24
const tagBytes = 16

/** Returns the text of a box (nonce, tag, sealed bytes) under a key of 32 bytes; undefined = it does not open. */
export function openSecretbox(box: Uint8Array, key: Uint8Array): Buffer | undefined {
  if (box.length < nonceBytes + tagBytes) return undefined
  try {
    return Buffer.from(xsalsa20poly1305(key, box.subarray(0, nonceBytes)).decrypt(box.subarray(nonceBytes)))
  } catch {
    // The only throw for a box of this length and a key of 32 bytes: the tag is another.
    return undefined
  }
}
