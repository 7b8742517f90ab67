// Loads scripts with the data of a site when they are needed, because a page from disk must not read other files.
"use strict";
const site = {
  load: (address) =>
    new Promise((resolve, reject) => {
      const script = document.createElement("script");
      script.src = address;
      script.onload = resolve;
      script.onerror = () => reject(new Error(`${address} cannot be loaded`));
      document.head.append(script);
    }),

  // Tournaments, engines, and how many games the files have.
  names: async () => {
    let found = null;
    window.siteNames = (given) => {
      found = { ...given, engines: new Map(given.engines) };
    };
    await site.load("lists/names.js");
    return found;
  },
};
