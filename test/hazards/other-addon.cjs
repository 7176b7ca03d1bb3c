// What stands where the addon is looked for: one of other contracts.
module.exports = { contracts: "those of another version" };
