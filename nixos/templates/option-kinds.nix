# Kinds of options that come again and again; the rest is said as for mkOption.
(
  { lib, ... }:
  let
    inherit (lib) mkOption types;
  in
  {
    onUnlessRefused = description: mkOption {
      type = types.bool;
      default = true;
      example = false;
      inherit description;
    };

    words = option: mkOption ({ type = types.listOf types.str; default = [ ]; } // option);

    orNull = type: option: mkOption ({ type = types.nullOr type; default = null; } // option);
  }
)
