/** Keys anywhere in a file whose values may be secret, by their names, also misspelt ones: errors do not show them. */
export const secretName = /key|secret|(?<!per_\w*)token$|^proxy$|credentials|password|headers$|url$|base$|endpoint$/
